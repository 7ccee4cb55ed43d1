#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/files/path_dialog.hpp"
#include "app/gui/shell/platform_services.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/notice_bar.hpp"

namespace sluice::gui {

/// Lets the user choose files and folders: with the desktop's dialogs, with the window's own dialog if the desktop has
/// none, or with those of the page in a browser. Needs the objects that it gets, which must outlive this object.
class file_choosers {
 public:
  file_choosers(const platform_services& around, const settings& remembered, const command_registry& commands,
                notice_bar& notices)
      : around_(around), settings_(remembered), commands_(commands), notices_(notices) {}

  /// Asks for recordings to open; see `take_recordings`.
  void choose_recordings();
  /// Asks for the path of one recording, with the window's own dialog. It invokes "file.open_path".
  void type_path();
  /// Asks for a folder with sources and symbols; see `take_source_folder`.
  void choose_source_folder();
  /// Asks for a path, starting with `name` in the folder of the last opened file, and invokes `command` with the chosen
  /// path. If `name` is absolute, starts in the folder of `name`.
  void ask_where_to_save(const std::string& name, const std::string& command);

  /// Returns the recordings that the user has chosen, once; usually none.
  [[nodiscard]] std::vector<std::string> take_recordings();
  /// Returns the folder that the user has chosen, once; usually none.
  [[nodiscard]] std::optional<std::string> take_source_folder();

  // The window's own dialog.
  void draw(const view_context& with) { paths_.draw(with); }
  [[nodiscard]] bool is_open() const { return paths_.is_open(); }
  /// True while the user chooses recordings, in any dialog.
  [[nodiscard]] bool is_choosing() const { return paths_.is_open() || recordings_dialog_ != nullptr; }
  /// Returns true if the dialog was open.
  [[nodiscard]] bool close();
  /// True while the dialog reads a folder.
  [[nodiscard]] bool reading() const { return paths_.reading(); }

 private:
  struct file_dialog;
  struct folder_dialog;
  [[nodiscard]] std::string last_folder() const;

  const platform_services& around_;
  const settings& settings_;
  const command_registry& commands_;
  notice_bar& notices_;
  path_dialog paths_;
  std::shared_ptr<file_dialog> recordings_dialog_;
  std::shared_ptr<folder_dialog> sources_dialog_;
};

}  // namespace sluice::gui
