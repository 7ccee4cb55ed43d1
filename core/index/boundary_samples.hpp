#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Converts samples (which hold until the next one) to rows that a section needs from outside its own time range.
namespace sluice::analysis {

using counter_trees = std::map<trace::counter_id, timeline::sample_tree>;

/// The sample in force just before `boundary` of each counter, pool and device that has one. O(things * log samples).
[[nodiscard]] std::vector<trace::last_sample_row> samples_before(time_ns boundary, const memory_use& memory,
                                                                 const counter_trees& counters);

/// The first and the highest sample of each (per number, as samples of pools and devices have several). Same cost.
[[nodiscard]] std::vector<trace::last_sample_row> first_and_highest_samples(const memory_use& memory,
                                                                            const counter_trees& counters);

/// The inverse: adds the samples in `rows` to `memory` and `counters`. Settle both before querying them.
void set_known_samples(std::span<const trace::last_sample_row> rows, memory_use& memory, counter_trees& counters);

}  // namespace sluice::analysis
