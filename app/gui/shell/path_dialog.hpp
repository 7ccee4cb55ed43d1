#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/background.hpp"
#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// The names of files that the window opens, as patterns of a shell; the content decides in the end.
inline constexpr const char* recording_patterns = "*.sluice *.sluiceview *.pickle *.gz *.json *.sqlite *.csv *.dev*";

/// The path that `text` stands for in a dialog that began with `folder`: a relative one is in that folder, and an
/// absolute one that was pasted behind other text ("runs//work/x") counts alone.
[[nodiscard]] std::string path_typed(const std::string& text, const std::string& folder);

/// Chooses a file by its path, where no file dialog of the desktop is installed: a field, and the files and folders that
/// begin with what is typed. Use from one thread. A folder is read in the background, when the text changes.
class path_dialog {
 public:
  /// Shows the dialog, with the files of `folder`; empty: of the current folder.
  void open(const std::string& folder);
  /// Asks where to save a file, in `folder`, at first called `name`; an absolute `name` is in its own folder. Invokes
  /// `command` with the absolute path. Asks again before a file is replaced.
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
    bool opens = false;  ///< A file whose name is like that of a recording.
  };
  /// What was found about a text.
  struct listing {
    std::string text;
    std::string path;            ///< See `path_typed`.
    bool exists = false;         ///< There is such a file or folder.
    bool is_folder = false;      ///< The text names a folder.
    std::vector<entry> entries;  ///< What begins with it: folders first, then what can be opened.
  };
  [[nodiscard]] static listing list(const std::string& text, const std::string& folder);
  void read();
  void draw_field();
  [[nodiscard]] const entry* draw_entries(const view_context& with);
  void draw_buttons(const view_context& with);
  [[nodiscard]] bool saves() const;
  void take(const view_context& with, const entry& chosen);

  bool open_ = false;
  std::string command_;  ///< Takes the path.
  bool focus_ = false;
  bool select_ = false;  ///< With the focus, all of the text is selected.
  std::string folder_;   ///< That the dialog began with.
  std::string text_;
  listing found_;         ///< Of `text_`, or of an earlier one while the folder is being read.
  bool entered_ = false;  ///< Enter or the button was pressed: the text is taken once it is known what it names.
  std::string replaced_;  ///< The file that is there already, while the user is asked about it; empty: none.
  background<listing> reading_;
};

}  // namespace sluice::gui
