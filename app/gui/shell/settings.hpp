#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/window/theme_kind.hpp"
#include "app/recordings/file_state.hpp"
#include "app/recordings/verdict_line.hpp"
#include "core/base/error.hpp"

namespace sluice::gui {

/// The verdict on a recently opened file, and the state that the file had then.
struct recent_verdict {
  recordings::file_state file;
  recordings::verdict_line line;
  friend bool operator==(const recent_verdict&, const recent_verdict&) = default;
};

/// The window's persistent settings, in $XDG_CONFIG_HOME/sluice (~/.config/sluice). A file that cannot be read or
/// written is treated as missing: settings never prevent the program from running.
class settings {
 public:
  /// If `folder` is empty, nothing is read or saved (for pictures and tests).
  explicit settings(std::string folder);
  /// The folder that the environment specifies, as described above.
  [[nodiscard]] static std::string default_folder();

  theme_kind theme = theme_kind::dark;
  float text_scale = 1;
  bool memory_by_category = true;  ///< See documents::memory_by_category.
  int width = 1440;
  int height = 900;

  /// Recently opened paths, newest first, at most `recent_limit`.
  [[nodiscard]] const std::vector<std::string>& recent() const { return recent_; }
  void add_recent(const std::string& path);
  [[nodiscard]] bool is_recent(const std::string& path) const;
  void forget_recent();
  /// What the report on a recent file said; null if no report on it was computed. The file may have changed since.
  [[nodiscard]] const recent_verdict* find_verdict(const std::string& path) const;
  /// Stores the verdict on a recent file; ignores other files.
  void remember_verdict(const std::string& path, const recent_verdict& verdict);
  /// Earlier SQL queries, newest first, at most `query_limit`.
  [[nodiscard]] const std::vector<std::string>& queries() const { return queries_; }
  /// Adds a query to `queries`. Queries longer than `query_length` are not stored.
  void add_query(const std::string& text);
  /// The user's key bindings, by command id, in the format of `key_text`; an empty text means no key.
  std::map<std::string, std::string> keys;
  /// A recording that was open when the window was closed, and the visible range.
  struct open_document {
    std::string path;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::string views{};  ///< View state, as `to_text` formats a kept_view; empty if there is none.
  };
  static constexpr std::size_t longest_views = std::size_t{32} << 10;  ///< Longer `views` are not stored.
  /// The recordings of the last session, at most `recent_limit`. Set this before calling `save`.
  std::vector<open_document> last_session;
  /// Command lines recorded from the window, newest first, at most `command_limit`.
  [[nodiscard]] const std::vector<std::string>& commands() const { return commands_; }
  void add_command(const std::string& line);
  /// Writes the settings to the file. Does nothing if the file exists but could not be read, so that it stays unchanged
  /// (see `trouble`).
  void save() const;
  /// Reads settings, one per line. Ignores invalid lines.
  void read(std::istream& lines);
  /// Writes the settings in the format that `read` accepts; `save` uses this to write the file.
  void write(std::ostream& lines) const;
  /// Path of ImGui's layout file; empty if nothing is stored.
  [[nodiscard]] std::string layout_file() const { return folder_.empty() ? "" : folder_ + "/layout.ini"; }
  /// The content of the layout file. Errors: not_found; read errors; foreign if ImGui could not handle the content.
  [[nodiscard]] result<std::string> read_layout();
  /// Writes the layout file. Does nothing if the file exists but could not be read.
  void save_layout(std::string_view text) const;

  static constexpr std::size_t recent_limit = 12;
  static constexpr std::size_t query_limit = 50;
  static constexpr std::size_t command_limit = 20;
  static constexpr std::size_t query_length = 4096;
  static constexpr std::size_t max_dock_nodes = 256;  ///< Limit on the nodes of a layout, because ImGui traverses them
                                                      ///< recursively.

  /// An error message if the settings could not be read; otherwise empty.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  std::string folder_;
  std::string trouble_;
  bool layout_unread_ = false;
  std::vector<std::string> recent_;
  std::map<std::string, recent_verdict> verdicts_;  ///< By the path in `recent_`.
  std::vector<std::string> queries_;
  std::vector<std::string> commands_;
};

}  // namespace sluice::gui
