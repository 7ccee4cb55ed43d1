#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Text in columns.
namespace sluice::cli {

class text_table {
 public:
  enum class side : unsigned char { left, right };

  /// One letter a column: 'l' left, 'r' right.
  explicit text_table(const std::string& sides);

  /// Cells lose what would break the table or a terminal (core/base/printable.hpp).
  void row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// The rows, each after `indent` spaces, columns two spaces apart. Nothing ends in a space.
  [[nodiscard]] std::string text(std::size_t indent) const;

 private:
  std::vector<side> sides_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sluice::cli
