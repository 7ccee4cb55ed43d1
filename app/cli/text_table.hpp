#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Text aligned in columns.
namespace sluice::cli {

class text_table {
 public:
  enum class side : unsigned char { left, right };

  /// One letter per column: 'l' left-aligned, 'r' right-aligned.
  explicit text_table(const std::string& sides);

  /// Adds a row. Characters that would break the table or a terminal are replaced (core/base/printable.hpp).
  void row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// The rows, indented by `indent` spaces, with two spaces between columns and no trailing spaces.
  [[nodiscard]] std::string text(std::size_t indent) const;

 private:
  std::vector<side> sides_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sluice::cli
