#pragma once

#include <memory>
#include <optional>

#include "core/query/engine/long_result.hpp"
#include "core/query/results/result_functions.hpp"

/// Computes results from the rows of a recording, reading only the sections that a query needs. Private to core/query.
namespace sluice::query {

/// Computes a result from an index of the sections in the query's range. Returns nullopt if the file has no sections,
/// or if the query has no time range or covers many sections. `from.stored` must be set; `from.index` is not used.
template <class Query>
[[nodiscard]] std::optional<result<typename Query::result_type>> result_from_rows(const Query& query,
                                                                                  const sources& source);

/// Starts a query that takes long: a search, or a query that covers many sections, which are read in steps of a few
/// sections. Returns null for queries that do not take long. Objects that `source` refers to must outlive the returned
/// object. `from.stored` may be null.
template <class Query>
[[nodiscard]] std::unique_ptr<long_result<typename Query::result_type>> start_long_result(const Query& query,
                                                                                          const sources& source);

}  // namespace sluice::query
