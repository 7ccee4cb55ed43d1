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

/// Reads tables of untrusted SQLite files, whose columns are looked up by name. Private to core/import.
namespace sluice::importing {

/// A column to read.
struct nsys_column {
  enum class type : std::uint8_t { integer, text, real };
  const char* name = "";
  type holds = type::integer;
};

/// Some rows of a table. A cell is a number, the bits of a double, or the position of a text. NULL and cells of missing
/// columns are `null`.
struct nsys_rows {
  static constexpr std::int64_t null = INT64_MIN;

  std::size_t columns = 0;
  std::vector<std::int64_t> cells;
  std::string texts;  ///< All texts of the rows. The cell of a text is (its position in `texts` << 24) | its length.

  void clear(std::size_t columns_of_a_row);
  /// Adds a row. Returns a pointer to its first cell.
  [[nodiscard]] std::int64_t* add_row();
  [[nodiscard]] std::size_t size() const { return columns == 0 ? 0 : cells.size() / columns; }
  [[nodiscard]] const std::int64_t* row(std::size_t number) const { return cells.data() + number * columns; }
  [[nodiscard]] std::string_view text(std::int64_t cell) const;
};

/// An SQLite file opened read-only, with its write-ahead log if there is one. It writes and locks nothing, and uses no
/// other journal, view, trigger, virtual table or extension. To limit memory, it reads rows one by one and accepts
/// texts of at most 1 MiB. Not thread-safe.
class nsys_database {
 public:
  /// Opens a file. Errors: io, corrupt.
  [[nodiscard]] static result<nsys_database> open(const std::string& path);
  nsys_database() = default;
  nsys_database(nsys_database&&) noexcept;
  nsys_database& operator=(nsys_database&&) noexcept;
  ~nsys_database();

  /// True if a journal next to the file shows an unfinished transaction, so that the content may be incomplete.
  [[nodiscard]] bool half_written() const { return half_written_; }

  struct table {
    std::string name;
    std::uint64_t rows = 0;  ///< The highest row number, which is an estimate of the number of rows.
  };
  /// The ordinary tables of the file, without views and virtual tables.
  [[nodiscard]] const std::vector<table>& tables() const { return tables_; }
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view text, std::string_view column) const;

  /// The names of a table's columns.
  [[nodiscard]] const std::vector<std::string>& get_columns(std::string_view name) const;

  /// Returns the number of rows of a table, or 0 if the table cannot be read. O(rows), but does not read their content.
  [[nodiscard]] std::uint64_t count_rows(std::string_view name) const;
  /// Returns true if the numbers in a column of a table never decrease from row to row. O(rows).
  [[nodiscard]] bool is_sorted(std::string_view name, const nsys_column& column) const;

  /// Reads a table and calls `take` with at most `most` rows at a time, until `take` returns false. Cells of missing
  /// columns are null. `where` is a trusted SQL condition, or empty. `order` lists the columns to sort by; if empty,
  /// rows are in the file's order. Sorting more than 8 MiB uses files in TMPDIR. Errors: corrupt, io.
  [[nodiscard]] result<void> read(std::string_view name, std::span<const nsys_column> columns, std::string_view where,
                                  std::span<const char* const> order, std::size_t most,
                                  const std::function<nsys_rows*()>& room,
                                  const std::function<bool(nsys_rows*)>& take) const;

 private:
  struct close {
    void operator()(sqlite3* subject) const;
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
