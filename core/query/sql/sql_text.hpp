#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query/sql/sql.hpp"

/// Formats the results of SQL queries as text.
namespace sluice::query {

enum class sql_format : std::uint8_t {
  table,  ///< Aligned columns, for people to read. The first thousand rows determine the widths.
  csv,    ///< RFC 4180: a line of column names, then one line per row; null is an empty cell.
  json    ///< An array with one object per row, each on its own line; a repeated column name gets ":2" appended.
};

/// Formats rows one by one. Holds at most a thousand rows.
class sql_writer {
 public:
  sql_writer(sql_format as, std::span<const sql_column> columns);

  /// Formats the current row of `statement`. Appends the text that is complete to `to`.
  void row(const sql_statement& statement, std::string& to);
  /// Appends the remaining text. Call after the last row.
  void end(std::string& to);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  void write_json(const sql_statement& statement, std::string& to);
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

/// Returns a cell as text: numbers as digits, null as an empty text.
[[nodiscard]] std::string to_text(const cell& value);

/// Appends `text` as a JSON string with quotes. Invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace sluice::query
