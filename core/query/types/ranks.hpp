#pragma once

#include <cstdint>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/query/types/memory_groups.hpp"

/// The memory and the waiting times of the ranks (numbered processes) of a job over time.
namespace sluice::query {

/// A rank, as identified in `metrics::rank_metrics`.
struct shown_rank {
  trace::process_id process{};
  index::memory_key memory;
  friend bool operator==(const shown_rank&, const shown_rank&) = default;
};

struct rank_row {
  std::vector<double> memory;  ///< The most bytes of all processes in each part of the range: see `put_own_memory`.
  /// For each part, a lower bound of the share of the part in which the device is idle, 0..1. If several streams work
  /// at the same time, only the busiest one counts. Empty if the device's work was not recorded.
  std::vector<float> idle;
  /// For each part, the share of the part in which the busiest thread of the rank waits for a device, 0..1. Empty if no
  /// calls were recorded.
  std::vector<float> waiting;
};

struct rank_rows {
  time_range range;            ///< Divided evenly by the parts of all rows.
  std::vector<rank_row> rows;  ///< In the order of the query.
};

/// Requests the memory and the waiting times of ranks. O(ranks * width).
struct ranks_query {
  std::vector<shown_rank> ranks;
  time_range range;
  std::uint32_t width = 0;  ///< The number of parts of the range.
  friend bool operator==(const ranks_query&, const ranks_query&) = default;
  using result_type = rank_rows;
};

/// For a rank that shares its device: replaces `into.memory`, the memory of all processes, with the memory of the rank
/// alone, the most in each part of `range`. `own` is the result for the blocks of this rank; if its range differs, the
/// memory becomes unknown. O(parts of both).
void put_own_memory(const memory_groups& own, time_range range, rank_row& into);

}  // namespace sluice::query
