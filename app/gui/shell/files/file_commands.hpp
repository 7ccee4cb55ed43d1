#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/files/close_confirmation.hpp"
#include "app/gui/shell/files/comparison_opener.hpp"
#include "app/gui/shell/files/file_choosers.hpp"
#include "app/gui/shell/files/recording_opener.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/notice_bar.hpp"

namespace sluice::gui {

/// The commands that open, copy and close recordings. Needs the objects that it gets, which must outlive this object
/// and the commands.
class file_commands {
 public:
  /// The objects that the commands use.
  struct home {
    documents& session;
    settings& remembered;
    notice_bar& notices;
    file_choosers& choosers;
    recording_opener& opener;
    close_confirmation& confirmation;
    const command_registry& commands;
    bool keeps_files = true;  ///< See `platform_services::keeps_files`.
  };
  explicit file_commands(const home& used) : home_(used) {}

  void add(command_registry& commands);
  /// Opens recordings and saved views. Compares them if they are two recordings.
  void open(const std::vector<std::string>& paths);
  /// Opens what the user has chosen in the desktop's dialogs. Call once per frame.
  void follow();

 private:
  void follow_comparison();
  void open_source(const std::string& place);
  void save_as(const std::string* path);
  /// Copies the active document's file to `path`.
  void save_copy(const std::string& path);
  void look_for_sources_in(const std::string& folder);

  /// Closes the document that `with` names or, without one, the tab in front.
  void close(const argument& with);

  home home_;
  comparison_opener comparisons_{home_.session, home_.choosers, home_.opener};
  bool comparing_ = false;  ///< The user chooses the first of two recordings to compare.
};

}  // namespace sluice::gui
