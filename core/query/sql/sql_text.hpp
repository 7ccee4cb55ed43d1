#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query/sql/sql.hpp"

/// Answers of queries as text.
namespace sluice::query {

enum class sql_format : std::uint8_t {
  table,  ///< For people: columns in line; the first thousand rows decide how wide they are.
  csv,    ///< RFC 4180: a line of names, then a line a row; null is an empty cell.
  json    ///< An array with an object a row, each on a line of its own; a name that comes again gets ":2" behind it.
};

/// Makes text of rows as they come. Holds at most a thousand of them.
class sql_writer {
 public:
  sql_writer(sql_format as, std::span<const sql_column> columns);

  /// Appends what can be written of this row and those before it.
  void row(const sql_statement& from, std::string& to);
  /// The end of all rows.
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

/// A cell in words: integers and reals as digits, null as nothing.
[[nodiscard]] std::string text_of(const cell& value);

/// `text` as a string of JSON, quotes included. What is no UTF-8 becomes U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace sluice::query
