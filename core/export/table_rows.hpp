#pragma once

#include <functional>

#include "core/export/export.hpp"

/// The rows of one table, whatever their type: for formats that write all kinds alike.
namespace sluice::exports {

/// Every row of `from` that is wanted; `visit(row)`, where `from.columns[i].read(row, tables)` are its cells. Tables that are
/// no events come whole. Errors: io, corrupt, cancelled, and what `visit` returns.
[[nodiscard]] result<void> for_each_row(job& what, const query::table& from,
                                        const std::function<result<void>(const void* row)>& visit);

/// Those that were asked for, or all.
[[nodiscard]] std::vector<const query::table*> wanted_tables(const options& wanted);

}  // namespace sluice::exports
