#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/window/theme_kind.hpp"

namespace sluice::gui {

/// What the window remembers from one run to the next, in $XDG_CONFIG_HOME/sluice (~/.config/sluice). A file that cannot
/// be read or written is as good as none: settings never stop the program.
class settings {
 public:
  /// `folder` empty: nothing is read or kept (pictures, tests).
  explicit settings(std::string folder);
  /// The folder the environment names.
  [[nodiscard]] static std::string default_folder();

  theme_kind theme = theme_kind::dark;
  float text_scale = 1;
  bool memory_by_category = true;  ///< As the session's of this name.
  int width = 1440;
  int height = 900;

  /// Paths, the newest first, at most `recent_limit`.
  [[nodiscard]] const std::vector<std::string>& recent() const { return recent_; }
  void add_recent(const std::string& path);
  void forget_recent();
  /// What was asked in SQL, the newest first, at most `query_limit`.
  [[nodiscard]] const std::vector<std::string>& queries() const { return queries_; }
  /// Long ones are not kept.
  void add_query(const std::string& text);
  void save() const;
  /// Takes over what `lines` says, a setting a line; what makes no sense is passed over.
  void read(std::istream& lines);
  /// The same lines, as `save` keeps them.
  void write(std::ostream& lines) const;
  /// Where the layout of the panels is kept, as ImGui writes it; empty: nowhere.
  [[nodiscard]] std::string layout_file() const { return folder_.empty() ? "" : folder_ + "/layout.ini"; }
  void save_layout(std::string_view text) const;

  static constexpr std::size_t recent_limit = 12;
  static constexpr std::size_t query_limit = 50;
  static constexpr std::size_t query_length = 4096;

  /// Why what was remembered could not be read, as a line for the user; empty: it was, or there is nothing.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  std::string folder_;
  std::string trouble_;
  std::vector<std::string> recent_;
  std::vector<std::string> queries_;
};

}  // namespace sluice::gui
