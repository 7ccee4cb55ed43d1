#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/query/results/long_result.hpp"
#include "core/query/results/result_functions.hpp"

/// Starts the queries that take long. Private to core/query.
namespace sluice::query {

using unique_result = std::unique_ptr<any_long_result>;

/// Each function returns null if a result is not computed in this way. `trace` and the objects that `source` refers to must
/// outlive the returned object. `source.stored` may be null.
[[nodiscard]] std::unique_ptr<long_result<search_results>> start_long(const search_query& query,
                                                                      const trace::snapshot& trace);
[[nodiscard]] std::unique_ptr<long_result<duration_histogram>> start_long(const durations_query& query,
                                                                          const trace::snapshot& trace);
[[nodiscard]] unique_result start_long(const holes_query& query, const sources& source);
/// Replays the requests to an allocator with other settings, which are called policies. The result is the memory that
/// the allocator would have reserved under each policy.
[[nodiscard]] unique_result start_long(const what_if_query& query, const sources& source);

/// Computes the result from the list of all blocks, which is built first if necessary. Reads only the columns that the
/// query needs, and all columns only of the blocks that are returned: O(blocks) integers. `without` computes the result
/// if the list cannot be built. `source.stored->blocks` must be set.
[[nodiscard]] unique_result start_from_list(const blocks_query& query, const sources& source, unique_result without);

/// Returns the statistics of one step.
using step_measure = std::function<result<metrics::range_statistics>(const statistics_query& step)>;
[[nodiscard]] unique_result start_steps(const step_statistics_query& query, const sources& source,
                                        step_measure measure);
/// Like `result_to`, but measures only the steps that were not settled in `before`, an earlier result of the same
/// query. If `before` is null, measures all steps.
[[nodiscard]] result<step_statistics> result_after(const step_statistics* before, const step_statistics_query& query,
                                                   const sources& source);
/// Returns the positions of the outliers: values that differ from the median by more than 5 % of the median, and by
/// more than 3.5 times the usual deviation. The usual deviation is 1.4826 times the median deviation or, if that is 0,
/// 1.2533 times the mean deviation (Iglewicz and Hoaglin, "How to detect and handle outliers", 1993). Sets `median`.
/// Ignores NaN. Fewer than 5 values have no outliers. O(n log n).
[[nodiscard]] std::vector<std::uint32_t> find_outliers(const std::vector<double>& values, double& median);

/// Returns the range of `query`, made wider so that it contains the device work before and after it, if there is any in
/// the nearest `idle_lanes_query::max_searched` sections on each side: gaps that cross an edge of the range lie between
/// such work. `source` must have sections. Reads one section at a time.
[[nodiscard]] time_range find_lane_range(const idle_lanes_query& query, const sources& source);

}  // namespace sluice::query
