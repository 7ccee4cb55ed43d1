#pragma once

#include <cstdint>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/query/answers/panels/memory_groups.hpp"
#include "core/timeline/time_range.hpp"

/// Ranks of a job over time.
namespace sluice::query {

/// A rank, as the figures about ranks name it: `analysis::rank_figures`.
struct shown_rank {
  trace::process_id process{};
  analysis::memory_key memory;
  friend bool operator==(const shown_rank&, const shown_rank&) = default;
};

struct rank_row {
  std::vector<double> memory;  ///< The most bytes in each part of the range, of all processes: see `put_own_memory`.
  /// The least share of each part in which the device has no work: 0..1. Work on several streams at once counts for the
  /// stream that is busiest. Empty if the device's work was not recorded.
  std::vector<float> idle;
  /// The share of each part in which the busiest thread of the rank waits for a device: 0..1. Empty without calls.
  std::vector<float> waiting;
};

struct rank_rows {
  analysis::time_range range;  ///< Divided evenly by the parts of all rows.
  std::vector<rank_row> rows;  ///< As asked.
};

/// Asks for the memory and the waiting of ranks over time. O(ranks * width).
struct ranks_question {
  std::vector<shown_rank> ranks;
  analysis::time_range range;
  std::uint32_t width = 0;  ///< Parts of the range.
  friend bool operator==(const ranks_question&, const ranks_question&) = default;
  using answer_type = rank_rows;
};

/// Replaces the memory of a rank that shares its device by its own: the most in each part of `range`. `own`: the answer
/// about blocks of the rank alone; where it is not of the same range, nothing is known. O(parts of both).
void put_own_memory(const memory_groups& own, analysis::time_range range, rank_row& into);

}  // namespace sluice::query
