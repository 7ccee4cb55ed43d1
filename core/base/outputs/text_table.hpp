#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"

/// Formats lines of text, and text in aligned columns.
namespace sluice::cli {

/// Formats one line. The result is a single line whatever names it contains (core/base/printable.hpp), except that it
/// starts with an empty line if `form` starts with a newline.
template <class... Parts>
[[nodiscard]] std::string text_line(fmt::format_string<Parts...> form, Parts&&... parts) {
  const fmt::string_view words = form;
  const std::size_t apart = words.size() > 0 && *words.data() == '\n' ? 1 : 0;
  const std::string text = fmt::format(form, std::forward<Parts>(parts)...);
  return std::string(apart, '\n') + printable(std::string_view(text).substr(apart)) + "\n";
}

class text_table {
 public:
  enum class side : unsigned char { left, right };

  /// `sides`: one letter per column: 'l' left-aligned, 'r' right-aligned.
  explicit text_table(const std::string& sides);

  /// Adds a row. Replaces characters that would break the table or affect a terminal (core/base/printable.hpp).
  void row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// The rows, indented by `indent` spaces, with two spaces between columns and without trailing spaces.
  [[nodiscard]] std::string text(std::size_t indent) const;

 private:
  std::vector<side> sides_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sluice::cli
