#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/background.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/recordings/file_state.hpp"

namespace sluice::gui {

/// Shell patterns for the names of files that the window can open. The content decides whether a file can actually be
/// opened.
inline constexpr const char* recording_patterns = "*.sluice *.sluiceview *.pickle *.gz *.json *.sqlite *.csv *.dev*";

/// The path that `text` denotes in a dialog that started in `folder`: a relative path is in that folder. An absolute
/// path pasted after other text ("runs//work/x") replaces that text.
[[nodiscard]] std::string path_typed(const std::string& text, const std::string& folder);

/// Completes a typed path as a shell does: returns `text` with its last name extended to what all of `names`, the files
/// and folders that begin with it, have in common. Names of folders end with "/". Returns `text` if there are none.
[[nodiscard]] std::string complete_path(const std::string& text, const std::vector<std::string>& names);

/// Lets the user choose a file by its path, if the desktop has no file dialog: shows a text field, and the files and
/// folders whose names start with the typed text. Use from one thread. When the text changes, the folder is read in the
/// background.
class path_dialog {
 public:
  /// Opens the dialog and lists the files of `folder`; empty: the current folder. `recent`: paths that are offered until
  /// the user changes the text.
  void open(const std::string& folder, const std::vector<std::string>& recent = {});
  /// Asks where to save a file, starting with `name` in `folder`; if `name` is absolute, in the folder of `name`.
  /// Invokes `command` with the absolute path. Asks for confirmation before replacing a file.
  void save(const std::string& folder, const std::string& name, const std::string& command);
  /// Draws the dialog if it is open. When the user chooses a file to open, invokes "file.open_path" with its path.
  void draw(const view_context& with);
  [[nodiscard]] bool is_open() const { return open_; }
  void close() { open_ = false; }
  /// True while a folder is being read.
  [[nodiscard]] bool reading() const { return reading_.running(); }

 private:
  struct entry {
    std::string path;
    bool folder = false;
    bool opens = false;              ///< The entry is a file whose name matches `recording_patterns`.
    recordings::file_state state{};  ///< Of a file.
  };
  /// What is known about a typed text.
  struct listing {
    std::string text;
    std::string path;            ///< See `path_typed`.
    bool exists = false;         ///< The file or folder exists.
    bool is_folder = false;      ///< The text names a folder.
    std::vector<entry> entries;  ///< Entries that start with the text: folders first, then files that can be opened.
  };
  [[nodiscard]] static listing list(const std::string& text, const std::string& folder);
  void read();
  void draw_field();
  void draw_recent(const view_context& with);
  void draw_entry(const view_context& with, const entry& each);
  static int complete(ImGuiInputTextCallbackData* field);
  [[nodiscard]] std::vector<std::string> list_names() const;
  [[nodiscard]] const entry* draw_entries(const view_context& with);
  void draw_buttons(const view_context& with);
  [[nodiscard]] bool saves() const;
  void take(const view_context& with, const entry& chosen);

  bool open_ = false;
  std::string command_;  ///< The command to invoke with the path.
  bool focus_ = false;
  bool select_ = false;  ///< Select the whole text when the text field gets the focus.
  std::string folder_;   ///< The folder in which the dialog started.
  std::string text_;
  std::string first_text_;           ///< The text when the dialog was opened.
  std::vector<std::string> recent_;  ///< See `open`.
  listing found_;         ///< The listing for `text_`, or for an earlier text while the folder is being read.
  bool entered_ = false;  ///< The user pressed Enter or the button: the text is used once `found_` is up to date.
  std::string replaced_;  ///< Path of an existing file while the user is asked whether to replace the file; otherwise
                          ///< empty.
  background<listing> reading_;
};

}  // namespace sluice::gui
