#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/chunk_index.hpp"
#include "core/trace/model/row_type.hpp"

/// The time spans of rows and chunks. Private to core.
namespace sluice::index {

/// Returns the first and the last time at which a row is relevant to a query. The first time is when the work was
/// enqueued or, if that is unknown, when it started. The last time is its end.
template <class Row>
std::pair<time_ns, time_ns> get_times(const Row& row) {
  const time_ns time = bounded(row.time);
  std::pair<time_ns, time_ns> found(time, time);
  if constexpr (requires { row.end; }) {
    // A graph launch without an end covers only the call, because the graph's nodes have their own rows.
    constexpr bool may_be_an_instant = std::is_same_v<Row, trace::graph_launch_event>;
    const time_ns open = may_be_an_instant ? time : latest_time;
    found.second = row.end == trace::unknown_time ? open : std::max(time, bounded(row.end));
  }
  if constexpr (requires { row.length; }) found.second = bounded(trace::detail::get_end(row));
  if constexpr (requires { row.enqueued; }) {
    if (row.enqueued != trace::unknown_time) {
      found.first = std::min(found.first, bounded(row.enqueued));
      found.second = std::max(found.second, bounded(row.enqueued));
    }
  }
  return found;
}

/// True if the row is relevant to queries about the time range `run`. A `live_block_event` counts by its allocation.
template <class Row>
bool lies_in(const Row& row, time_range run) {
  if constexpr (std::is_same_v<Row, trace::live_block_event>) {
    return bounded(row.born) >= run.begin && bounded(row.born) < run.end;
  } else {
    const auto [first, last] = get_times(row);
    return first < run.end && last >= run.begin;
  }
}

/// True for rows whose chunks store a range of block ids.
template <class Row>
constexpr bool names_blocks = std::is_same_v<Row, trace::alloc_event> || std::is_same_v<Row, trace::live_block_event>;

/// Returns the reach of chunk number `chunk` before any row is added to it.
template <class Row>
chunk_reach reach_of_no_rows(std::size_t chunk) {
  chunk_reach reach;
  reach.chunk = chunk;
  reach.lowest_event = UINT64_MAX;
  reach.time = latest_time;
  reach.end = -latest_time;
  if constexpr (names_blocks<Row>) reach.lowest_block = UINT64_MAX;
  return reach;
}

/// Extends `reach` to cover `row`.
template <class Row>
void add_to_reach(chunk_reach& reach, const Row& row) {
  reach.lowest_event = std::min(reach.lowest_event, trace::get_subject(row));
  reach.highest_event = std::max(reach.highest_event, trace::get_subject(row));
  const auto [first, last] = get_times(row);
  reach.time = std::min(reach.time, first);
  reach.end = std::max(reach.end, last);
  if constexpr (names_blocks<Row>) {
    reach.lowest_block = std::min(reach.lowest_block, raw(row.block));
    reach.highest_block = std::max(reach.highest_block, raw(row.block));
  }
}

template <class Row>
chunk_reach find_reach(const std::vector<Row>& rows, std::size_t chunk) {
  chunk_reach reach = reach_of_no_rows<Row>(chunk);
  for (const Row& row : rows) add_to_reach(reach, row);
  return reach;
}

}  // namespace sluice::index
