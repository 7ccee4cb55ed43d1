#pragma once

#include <functional>
#include <span>

#include "core/export/export.hpp"

/// The rows of one table, whatever their type, for formats that write all kinds alike.
namespace sluice::exports {

/// Calls `visit(row)` for every wanted row of `from`; `from.columns[i].read(row, tables)` gives its cells. Tables other
/// than events are given completely. Errors: io, corrupt, cancelled, and those of `visit`.
[[nodiscard]] result<void> for_each_row(job& what, const query::table& from,
                                        const std::function<result<void>(const void* row)>& visit);

/// The same, calling `visit` with the wanted rows of each chunk, which are valid until it returns.
[[nodiscard]] result<void> for_each_chunk(job& what, const query::table& from,
                                          const std::function<result<void>(std::span<const void* const> rows)>& visit);

/// The requested tables, or all.
[[nodiscard]] std::vector<const query::table*> wanted_tables(const options& wanted);

}  // namespace sluice::exports
