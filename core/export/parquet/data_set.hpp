#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/export/parquet/parquet_process.hpp"

/// The tables of the data set that `--format parquet` writes, and their columns. schema.md has the same in words.
namespace sluice::exports {

/// Where the value of a column comes from.
enum class column_source : std::uint8_t {
  same,         ///< The column `from` of the table of `sluice query`; null if that table has none.
  table,        ///< The name of that table.
  device_name,  ///< The device in `from`.
  stream_name,  ///< The stream in `from`.
  thread_name,  ///< The thread in `from`.
  stack,        ///< What the stack in `from` is attributed to: `attribution` is the column's name.
  call_stack,   ///< The same of the API call in `from`.
  call_name,    ///< The function of the API call in `from`.
  block         ///< Of a block: see blocks_source.cpp.
};

struct data_column {
  std::string_view name;
  parquet_type type = parquet_type::integer;
  std::string_view from;  ///< Names of columns, divided by '|': the first that the table has.
  std::string_view about;
  column_source source = column_source::same;
};

enum class data_rows : std::uint8_t {
  events,   ///< All events: rows of several tables of `sluice query`.
  rows,     ///< Rows of the table of `sluice query` that `from` names.
  blocks,   ///< Blocks, each from birth to death.
  figures,  ///< Rows of the table of figures that `from` names.
};

struct data_table {
  std::string_view name;
  std::string_view about;
  data_rows rows{};
  std::string_view from;
  std::span<const data_column> columns;
};

/// In the order in which they are written.
[[nodiscard]] std::span<const data_table> data_tables();

/// The tables as Markdown: schema.md.
[[nodiscard]] std::string data_set_schema_text();

}  // namespace sluice::exports
