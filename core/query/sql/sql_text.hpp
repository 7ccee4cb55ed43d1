#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query/sql/sql.hpp"

/// Query results as text.
namespace sluice::query {

enum class sql_format : std::uint8_t {
  table,  ///< For people: aligned columns, whose widths come from the first thousand rows.
  csv,    ///< RFC 4180: a line of names, then a line per row; null is an empty cell.
  json    ///< An array with one object per row, each on its own line; a repeated name gets ":2" appended.
};

/// Formats rows as they come. Holds at most a thousand rows.
class sql_writer {
 public:
  sql_writer(sql_format as, std::span<const sql_column> columns);

  /// Adds a row. Appends the text that is ready to `to`.
  void row(const sql_statement& from, std::string& to);
  /// Appends the rest after the last row.
  void end(std::string& to);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  void write_json(const sql_statement& from, std::string& to);
  void write_lines(std::string& to);
  void write_line(const std::vector<std::string>& cells, std::string& to) const;

  sql_format as_;
  std::vector<std::string> names_;
  std::vector<std::size_t> widths_;
  std::vector<bool> numbers_;
  std::vector<std::vector<std::string>> waiting_;
  bool measured_ = false;
  std::uint64_t rows_ = 0;
};

/// A cell as text: numbers in digits, null as an empty text.
[[nodiscard]] std::string text_of(const cell& value);

/// Appends `text` as a JSON string with quotes. Invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace sluice::query
