#pragma once

#include <string_view>
#include <vector>

#include "core/export/parquet/parquet_process.hpp"
#include "core/query/sql/sql_views.hpp"

/// The tables of the data set that `--format parquet` writes: tables and views of `sluice query`.
namespace sluice::exports {

struct data_table {
  std::string_view name;
  std::vector<query::view_column> shown;  ///< Its columns. Those of a table are views' columns that show one column.
  std::vector<parquet_column> columns;    ///< The same columns, as the file has them.
};

/// Returns the tables in the order in which they are written.
[[nodiscard]] std::vector<data_table> data_tables();

}  // namespace sluice::exports
