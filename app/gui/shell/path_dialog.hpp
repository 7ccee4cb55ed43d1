#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/background.hpp"
#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// Chooses a file by its path, where no file dialog of the desktop is installed: a field, and the files and folders that
/// begin with what is typed. Use from one thread. A folder is read in the background, when the text changes.
class path_dialog {
 public:
  /// Shows the dialog, with the files of `folder`; empty: of the current folder.
  void open(const std::string& folder);
  /// Asks where to save a file, in `folder`, at first called `name`. Invokes `command` with the path.
  void save(const std::string& folder, const std::string& name, const std::string& command);
  /// Draws it if it is open. To open a file, invokes "file.open_path" with the file that the user chose.
  void draw(const view_context& with);
  [[nodiscard]] bool is_open() const { return open_; }
  void close() { open_ = false; }
  /// True while a folder is being read.
  [[nodiscard]] bool reading() const { return reading_.running(); }

 private:
  struct entry {
    std::string path;
    bool folder = false;
  };
  /// What was found about a text.
  struct listing {
    std::string text;
    bool is_folder = false;      ///< The text names a folder.
    std::vector<entry> entries;  ///< What begins with it: folders first.
  };
  [[nodiscard]] static listing list(const std::string& text);
  void read();
  void take(const view_context& with, const entry& chosen);

  bool open_ = false;
  std::string command_;  ///< Takes the path.
  bool focus_ = false;
  std::string text_;
  listing found_;         ///< Of `text_`, or of an earlier one while the folder is being read.
  bool entered_ = false;  ///< Enter was pressed: the text is taken once it is known what it names.
  background<listing> reading_;
};

}  // namespace sluice::gui
