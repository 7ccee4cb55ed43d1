#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query/sql/columns.hpp"

/// The views over the tables. The declaration of a view is the only one: the databases of `sluice query`, exported
/// SQLite files, data sets of Parquet files and the documents follow it. Private to core/query and core/export.
namespace sluice::query {

/// The value of a view's column, for a row of the table that the view shows.
enum class view_value : std::uint8_t {
  column,       ///< The first of the columns `from` that is not null.
  readable,     ///< Like `column`, demangled.
  table_name,   ///< The name of the table.
  device_name,  ///< The name of the device in `from`.
  stream_name,  ///< The name of the stream in `from`, or its handle.
  thread_name,  ///< The name of the thread in `from`, or its number.
  call_name,    ///< The function of the API call in `from`.
  block,        ///< The column `to` of the block in `from`.
  stack,        ///< The column `to` of the call_stack in `from`.
  call_stack,   ///< The column `to` of the call_stack of the API call in `from`.
  difference,   ///< The first of the columns `from` minus the second.
  product       ///< The product of the columns `from`.
};

struct view_column {
  std::string_view name;
  std::string_view about{};  ///< Empty: the description of the column that it shows.
  view_value value = view_value::column;
  /// Columns of the table, separated by spaces. Those that the table lacks are ignored: without any, the value is null.
  /// Empty: the column `name`.
  std::string_view from{};
  std::string_view to{};  ///< Empty: the column `name`.

  [[nodiscard]] std::string_view column_shown() const { return to.empty() ? name : to; }
};

struct view_about {
  std::string_view name;
  std::string_view about;
  std::string_view table;  ///< The table whose rows it shows. Empty: all tables of events, one after another.
  std::span<const view_column> columns;
};

[[nodiscard]] std::span<const view_about> sql_views();
/// Returns the view with that name, or null if there is none.
[[nodiscard]] const view_about* find_view(std::string_view name);
/// Returns the names of the tables whose rows a view shows.
[[nodiscard]] std::vector<std::string_view> find_tables(const view_about& view);
/// Returns the columns of a table of rows or metrics. Empty if there is no such table.
[[nodiscard]] std::span<const column> find_columns(std::string_view table);
/// Returns the places of those columns `from` that a table has.
[[nodiscard]] std::vector<std::size_t> find_inputs(const view_column& shown, std::span<const column> table);
/// Describes a column of a view over `tables`. Its `read` is null.
[[nodiscard]] column describe_column(const view_column& shown, std::span<const std::string_view> tables);
/// Returns the CREATE VIEW statement.
[[nodiscard]] std::string create_view_text(const view_about& view);

}  // namespace sluice::query
