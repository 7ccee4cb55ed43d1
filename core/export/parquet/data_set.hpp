#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/export/parquet/parquet_process.hpp"

/// Defines the tables of the data set that `--format parquet` writes, and their columns. schema.md lists them.
namespace sluice::exports {

/// Where the values of a column come from.
enum class column_source : std::uint8_t {
  same,         ///< The values of the column `from` of the table of `sluice query`; null if the table does not have it.
  table,        ///< The name of the table of `sluice query`.
  device_name,  ///< The name of the device in the column `from`.
  stream_name,  ///< The name of the stream in the column `from`.
  thread_name,  ///< The name of the thread in the column `from`.
  stack,        ///< An attribution of the stack in the column `from`. The data column's name selects the attribution.
  call_stack,   ///< An attribution of the stack of the API call in the column `from`, selected in the same way.
  call_name,    ///< The function of the API call in the column `from`.
  block         ///< A value of a block. `add_block` in parquet.cpp provides it.
};

struct data_column {
  std::string_view name;
  parquet_type type = parquet_type::integer;
  std::string_view from;  ///< Names of columns, separated by '|'; the first one that the table has is used.
  std::string_view about;
  column_source source = column_source::same;
};

/// Which rows a table has.
enum class data_rows : std::uint8_t {
  events,   ///< One row per event: the rows of several tables of `sluice query`.
  rows,     ///< The rows of the table of `sluice query` that `data_table::from` names.
  blocks,   ///< One row per block, from its allocation to its free.
  metrics,  ///< The rows of the metric table that `data_table::from` names.
};

struct data_table {
  std::string_view name;
  std::string_view about;
  data_rows rows{};
  std::string_view from;
  std::span<const data_column> columns;
};

/// Returns the tables in the order in which they are written.
[[nodiscard]] std::span<const data_table> data_tables();

/// Returns the description of the tables as Markdown, which is the content of schema.md.
[[nodiscard]] std::string data_set_schema_text();

}  // namespace sluice::exports
