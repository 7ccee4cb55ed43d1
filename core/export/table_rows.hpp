#pragma once

#include <functional>
#include <memory>
#include <span>

#include "core/export/export.hpp"
#include "core/query/sql/metric_tables.hpp"

/// Reads the rows of a table of any type, for formats that write all types in the same way.
namespace sluice::exports {

/// Calls `visit(row)` for every requested row of `table`. `from.columns[i].read(row, tables)` returns the cells of a
/// row. Visits all rows of tables that are not about events. Errors: io, corrupt, cancelled, and those of `visit`.
[[nodiscard]] result<void> for_each_row(job& export_job, const query::table& table,
                                        const std::function<result<void>(const void* row)>& visit);

/// Like `for_each_row`, but calls `visit` once per chunk, with all requested rows of that chunk. The rows are valid
/// until `visit` returns.
[[nodiscard]] result<void> for_each_chunk(job& export_job, const query::table& table,
                                          const std::function<result<void>(std::span<const void* const> rows)>& visit);

/// True for rows of the table `block` whose blocks were live in the range and match the subjects, and for all rows of
/// other tables of metrics.
[[nodiscard]] bool takes_row(const job& export_job, const query::metric_table& table, const query::metric_rows& rows,
                             std::size_t row);

/// Returns the context in which tables of metrics compute the rows of an export, which must outlive it.
[[nodiscard]] std::unique_ptr<query::sql_context> make_context(const job& export_job);

/// Returns the requested tables, or all tables if none was requested.
[[nodiscard]] std::vector<const query::table*> wanted_tables(const options& wanted);

}  // namespace sluice::exports
