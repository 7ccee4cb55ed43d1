#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

struct sqlite3;

/// Reads untrusted SQLite files by column name. Private to core/import.
namespace sluice::importing {

/// A column to read.
struct nsys_column {
  enum class type : std::uint8_t { integer, text, real };
  const char* name = "";
  type holds = type::integer;
};

/// Rows of a query. A cell is a number, the bits of a double, or the position of a text. Missing and NULL values are
/// `null`.
struct nsys_rows {
  static constexpr std::int64_t null = INT64_MIN;

  std::size_t columns = 0;
  std::vector<std::int64_t> cells;
  std::string texts;  ///< All texts. A text cell is: position << 24 | length.

  void clear(std::size_t columns_of_a_row);
  /// Adds a row. Returns its first cell.
  [[nodiscard]] std::int64_t* add_row();
  [[nodiscard]] std::size_t size() const { return columns == 0 ? 0 : cells.size() / columns; }
  [[nodiscard]] const std::int64_t* row(std::size_t number) const { return cells.data() + number * columns; }
  [[nodiscard]] std::string_view text(std::int64_t cell) const;
};

/// A SQLite file opened read-only, with its write-ahead log if any. Writes and locks nothing; uses no other journal,
/// view, trigger, virtual table or extension. Limits are tight: one row at a time, texts up to 1 MiB. Not thread-safe.
class nsys_database {
 public:
  /// Errors: io, corrupt.
  [[nodiscard]] static result<nsys_database> open(const std::string& path);
  nsys_database() = default;
  nsys_database(nsys_database&&) noexcept;
  nsys_database& operator=(nsys_database&&) noexcept;
  ~nsys_database();

  /// True if a journal next to the file shows that its last transaction did not finish: its content may be incomplete.
  [[nodiscard]] bool half_written() const { return half_written_; }

  struct table {
    std::string name;
    std::uint64_t rows = 0;  ///< The highest row number, an estimate of how many there are.
  };
  /// Ordinary tables only.
  [[nodiscard]] const std::vector<table>& tables() const { return tables_; }
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view of, std::string_view column) const;

  /// The names of a table's columns.
  [[nodiscard]] const std::vector<std::string>& columns_of(std::string_view name) const;

  /// The number of rows of a table; 0 if they cannot be read. O(rows), without their content.
  [[nodiscard]] std::uint64_t count_rows(std::string_view name) const;
  /// True if the numbers in a column of a table never go down. O(rows).
  [[nodiscard]] bool is_sorted(std::string_view name, const nsys_column& column) const;

  /// Reads a table, `most` rows at a time, until `take` returns false. Missing columns are null. `where`: a trusted SQL
  /// condition, or empty. `order`: the columns to sort by, the first one first; in the file's own order without any. What
  /// is sorted and does not fit into 8 MiB is in files in TMPDIR meanwhile. Errors: corrupt, io.
  [[nodiscard]] result<void> read(std::string_view name, std::span<const nsys_column> columns, std::string_view where,
                                  std::span<const char* const> order, std::size_t most,
                                  const std::function<nsys_rows*()>& room,
                                  const std::function<bool(nsys_rows*)>& take) const;

 private:
  struct close {
    void operator()(sqlite3* of) const;
  };
  [[nodiscard]] tl::unexpected<error> failed(std::string_view doing) const;
  [[nodiscard]] result<void> read_schema();

  std::unique_ptr<sqlite3, close> handle_;
  std::string path_;
  bool half_written_ = false;
  std::vector<table> tables_;
  std::vector<std::vector<std::string>> columns_;
};

}  // namespace sluice::importing
