#pragma once

#include <string>

#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// How to record a program on another machine, and the address at which the window then opens the recording.
struct remote_recording {
  std::string record;   ///< The command line that records there, for a terminal on this machine.
  std::string address;  ///< "ssh://HOST/PATH".
  std::string problem;  ///< What is wrong with the request; the other texts are then empty.
};

/// `host`: as for ssh, "[USER@]HOST". `command`: the command line of the program. `file`: where the recording goes on the
/// other machine; a relative path is in the user's home folder there.
[[nodiscard]] remote_recording plan_remote(const std::string& host, const std::string& command,
                                           const std::string& file);

/// Records on another machine through ssh: shows the command, and opens the recording from there. Use from one thread.
class remote_dialog {
 public:
  /// Opens the dialog for the program with this command line; empty: the one that was typed last.
  void open(const std::string& command);
  /// Returns true if the dialog was open.
  [[nodiscard]] bool close();
  [[nodiscard]] bool is_open() const { return open_; }
  void draw(const view_context& with, const settings& remembered);

 private:
  void draw_fields(const view_context& with);
  void draw_recent(const view_context& with, const settings& remembered);

  bool open_ = false;
  bool focus_ = false;
  std::string host_, command_, file_ = "run.sluice";
};

}  // namespace sluice::gui
