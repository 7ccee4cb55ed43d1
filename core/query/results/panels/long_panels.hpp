#pragma once

#include <memory>

#include "core/query/engine/long_result.hpp"
#include "core/query/results/result_functions.hpp"

/// Starts the queries of panels that take long to compute. Private to core/query.
namespace sluice::query {

/// Objects that `source` refers to must outlive the returned object. `from.stored` may be null.
[[nodiscard]] std::unique_ptr<long_result<duration_histogram>> start_long_panel(const durations_query& query,
                                                                                const sources& source);
/// Returns null for a file without summaries.
[[nodiscard]] std::unique_ptr<long_result<step_statistics>> start_long_panel(const step_statistics_query& query,
                                                                             const sources& source);

/// Like `result_to`, but measures only the steps that were not settled in `before`, an earlier result of the same
/// query. If `before` is null, measures all steps.
[[nodiscard]] result<step_statistics> result_after(const step_statistics* before, const step_statistics_query& query,
                                                   const sources& source);

}  // namespace sluice::query
