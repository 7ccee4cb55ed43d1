#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/outputs/text_table.hpp"
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
  void write_csv(const sql_statement& statement, std::string& to);
  void write_table(const sql_statement& statement, std::string& to);
  void write_names(std::string& to) const;

  sql_format as_;
  std::vector<std::string> names_;
  text_table table_;
  std::uint64_t rows_ = 0;
};

/// Returns a cell as text: numbers as digits, null as an empty text.
[[nodiscard]] std::string to_text(const cell& value);

}  // namespace sluice::query
