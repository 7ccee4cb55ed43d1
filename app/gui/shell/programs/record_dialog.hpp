#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/background.hpp"
#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/processes/running_recordings.hpp"

namespace sluice::gui {

/// The text of the stop button, which names the button's effect: "End the program".
const char* stop_label(const recorder_process& recorder);
/// The button that stops the running program. Its tooltip explains the effect.
void stop_button(const view_context& with, const recorder_process& recorder);

/// Asks for a program to record, and shows the program's output while it runs. Use from one thread.
class record_dialog {
 public:
  /// Opens the dialog. `command`: the command line to start with; empty: the one that was typed last.
  void open(const std::string& command = {});
  void set_command(const std::string& line) { command_ = line; }
  void close() { open_ = false; }
  [[nodiscard]] bool is_open() const { return open_; }
  /// True while the file system is being read.
  [[nodiscard]] bool reading() const { return looking_.running() || placing_.running(); }
  /// Draws the dialog if it is open. `problem`: why recording here would see no GPU; empty: no reason is known. Returns
  /// the user's request once; otherwise null.
  [[nodiscard]] std::optional<record_request> draw(const view_context& with, const settings& remembered,
                                                   const recorder_process& recorder, const std::string& problem);
  /// The request that the fields describe, or an error to show to the user.
  [[nodiscard]] result<record_request> request() const;

 private:
  [[nodiscard]] std::optional<record_request> draw_fields(const view_context& with, const settings& remembered);
  void read_output(const recorder_process& recorder);
  void draw_choices(const view_context& with);
  void draw_running(const view_context& with, const recorder_process& recorder) const;
  void draw_others(const view_context& with);
  void draw_terminal_line(const record_request& asked);
  /// Finds out, in the background, where a recording of `asked` would be stored; repeats this from time to time.
  void find_place(const record_request& asked);

  bool open_ = false;
  bool focus_ = false;
  std::string command_;
  std::string environment_;
  record_request wanted_;  ///< Without command and environment, which are stored as text.
  std::vector<processes::running_recording> others_;
  std::string output_;         ///< The end of the recorded program's output, printable.
  double output_read_at_ = 0;  ///< When `output_` was read, in ImGui's time.
  double looked_at_ = 0;       ///< When `others_` was last updated, in ImGui's time.
  background<std::vector<processes::running_recording>> looking_;
  struct place {
    std::string about;  ///< The folder and program for which `path` was determined.
    result<std::string> path;
  };
  std::optional<place> place_;
  double placed_at_ = 0;  ///< When `place_` was last updated, in ImGui's time.
  background<place> placing_;
};

}  // namespace sluice::gui
