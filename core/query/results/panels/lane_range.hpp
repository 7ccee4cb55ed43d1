#pragma once

#include "core/query/results/result_functions.hpp"

namespace sluice::query {

/// Returns the range of `query`, made wider so that it contains the device work before and after it, if there is any in
/// the nearest `idle_lanes_query::max_searched` sections on each side: gaps that cross an edge of the range lie between
/// such work. `source` must have sections. Reads one section at a time. Private to core/query.
[[nodiscard]] time_range find_lane_range(const idle_lanes_query& query, const sources& source);

}  // namespace sluice::query
