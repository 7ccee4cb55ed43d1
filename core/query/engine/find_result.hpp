#pragma once

#include <optional>

#include "core/query/engine/row_source.hpp"
#include "core/query/results/result_functions.hpp"

namespace sluice::query {

/// Computes results from the bins and metrics that a file stores, or from the rows of some of its sections (time spans
/// that can be read alone). Returns nullopt if the query takes long (then call `start_long_result`) or needs an index
/// of the whole recording. `from.stored` must be set; `from.index` is not used. Private to core/query.
template <class Query>
[[nodiscard]] std::optional<result<typename Query::result_type>> find_result(const Query& query, const sources& source);

}  // namespace sluice::query
