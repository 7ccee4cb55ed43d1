#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/query/sql/columns.hpp"
#include "core/trace/file/reader.hpp"

/// Runs read-only SQL queries over a trace (a recording). `sql_schema()` lists the tables and views. Queries read the
/// trace's columns chunk by chunk, without copying them, and skip chunks that a condition on time or on an id excludes.
/// Memory does not grow with the trace.
namespace sluice::query {

struct sql_options {
  std::size_t lookup_bytes = std::size_t{256}
                             << 20;  ///< Limit for indexes, which are built when a query often looks up one id column.
  std::size_t value_bytes =
      std::size_t{64}
      << 20;  ///< The longest text or blob that a query can create. Also limits the query's own text, to at most 4 MiB.
  std::size_t memory_bytes = std::size_t{1} << 30;   ///< SQLite's memory; a query that needs more fails.
  std::size_t scratch_bytes = std::size_t{8} << 30;  ///< Temporary files for sorting; a query that needs more fails.
  const std::atomic<bool>* cancelled = nullptr;      ///< Setting this flag has the effect of `interrupt`; may be null.
  std::optional<std::chrono::steady_clock::time_point> deadline{};  ///< When it has passed, queries are interrupted.
};

struct sql_column {
  std::string name;
  id_kind id = id_kind::none;  ///< The kind of entity that the column's ids refer to; none if it has no ids.
};

/// A running query whose rows are read one by one. Must not outlive its database. Not thread-safe.
class sql_statement {
 public:
  sql_statement(sql_statement&&) noexcept;
  sql_statement& operator=(sql_statement&&) noexcept;
  ~sql_statement();

  [[nodiscard]] std::span<const sql_column> columns() const { return columns_; }

  /// Advances to the next row. Returns false after the last row. Errors: invalid_argument (an invalid value, or the
  /// query needs too much memory), io, corrupt, cancelled.
  [[nodiscard]] result<bool> step();
  /// Returns a cell of the current row, valid until the next `step`. Blobs are returned as texts.
  [[nodiscard]] cell at(std::size_t column) const;

 private:
  friend class sql_database;
  struct state;
  explicit sql_statement(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
  std::vector<sql_column> columns_;
};

/// A database on one snapshot. The time to open it does not depend on the trace's size. Not thread-safe, except for
/// `interrupt`.
class sql_database {
 public:
  [[nodiscard]] static result<std::unique_ptr<sql_database>> open(std::shared_ptr<const trace::snapshot> trace,
                                                                  const sql_options& options = {});
  ~sql_database();
  sql_database(const sql_database&) = delete;
  sql_database& operator=(const sql_database&) = delete;

  /// Prepares one read-only statement. Errors: invalid_argument, with the position of the error in `text`.
  [[nodiscard]] result<sql_statement> prepare(std::string_view text);

  /// Makes running queries and all later ones fail with `cancelled`. Thread-safe.
  void interrupt();

 private:
  friend class sql_statement;
  struct state;
  explicit sql_database(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

// --- descriptions of the schema -------------------------------------------------------------------------------------

struct sql_column_about {
  std::string name;
  std::string about;
  std::string type;  ///< "integer", "time", "id of a stream", ...
};
enum class sql_table_kind : std::uint8_t { rows, view, metrics };
struct sql_table_about {
  std::string name;
  std::string about;
  sql_table_kind kind = sql_table_kind::rows;
  std::vector<sql_column_about> columns;
};

/// Returns all tables and views: first the views, then the tables of analyses, then the tables of row types.
[[nodiscard]] std::vector<sql_table_about> sql_schema();
/// Returns the tables and views of `sql_schema` as Markdown text.
[[nodiscard]] std::string sql_schema_text();

}  // namespace sluice::query
