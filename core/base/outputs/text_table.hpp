#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"

/// Formats lines of text, and text in aligned columns.
namespace sluice {

/// Rows of cells in aligned columns, with two spaces between columns and without trailing spaces.
class text_table {
 public:
  enum class side : unsigned char { left, right };

  /// `sides`: one letter per column: 'l' left-aligned, 'r' right-aligned. `widest`: how far, in characters, cells
  /// below the first row widen their column; longer cells exceed it.
  explicit text_table(std::string_view sides, std::size_t widest = std::numeric_limits<std::size_t>::max());

  /// Adds a row. Replaces characters that would break the table or affect a terminal (core/base/printable.hpp).
  void row(std::vector<std::string> cells);
  /// The number of rows that `text` returns.
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void align(std::size_t column, side to) { sides_[column] = to; }

  /// The rows, indented by `indent` spaces.
  [[nodiscard]] std::string text(std::size_t indent) const;
  /// Returns the rows and removes them, for tables that are too large for memory: columns keep the widths of the rows
  /// that the first call removes.
  [[nodiscard]] std::string take();

 private:
  [[nodiscard]] std::vector<std::size_t> measure() const;
  [[nodiscard]] std::string format(const std::vector<std::size_t>& widths, std::size_t indent) const;

  std::vector<side> sides_;
  std::size_t widest_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> taken_widths_;
};

/// A text of lines and tables that is built from its first line to its last.
class text_builder {
 public:
  /// Adds one line, whatever names it contains (core/base/printable.hpp). If `form` starts with a newline, an empty
  /// line precedes it.
  template <class... Parts>
  void line(fmt::format_string<Parts...> form, Parts&&... parts) {
    const fmt::string_view words = form;
    const std::size_t apart = words.size() > 0 && *words.data() == '\n' ? 1 : 0;
    const std::string text = fmt::format(form, std::forward<Parts>(parts)...);
    text_ += std::string(apart, '\n') + printable(std::string_view(text).substr(apart)) + "\n";
  }
  void add(const text_table& table, std::size_t indent) { text_ += table.text(indent); }
  /// Adds lines that were built elsewhere, unchanged.
  void add(std::string_view lines) { text_ += lines; }

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace sluice
