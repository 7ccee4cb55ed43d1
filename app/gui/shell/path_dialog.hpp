#pragma once

#include <string>
#include <vector>

#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// Chooses a file by its path, where no file dialog of the desktop is installed: a field, and the files and folders that
/// begin with what is typed. Use from one thread. Reads a folder only when the text changes.
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

 private:
  struct entry {
    std::string path;
    bool folder = false;
  };
  void read();
  void take(const view_context& with, const entry& chosen);

  bool open_ = false;
  std::string command_;  ///< Takes the path.
  bool focus_ = false;
  std::string text_;
  std::string read_for_;  ///< The text that `found_` is about.
  std::vector<entry> found_;
};

}  // namespace sluice::gui
