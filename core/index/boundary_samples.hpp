#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/summary_rows.hpp"

/// What was sampled, and holds until the next sample, as rows that tell a part of a recording what it must know from elsewhere.
namespace sluice::analysis {

using counter_trees = std::map<trace::counter_id, timeline::sample_tree>;

/// Of each counter, pool and device the sample in force just before `boundary`, if there is one. O(things * log samples).
[[nodiscard]] std::vector<trace::last_sample_row> samples_before(time_ns boundary, const memory_use& memory,
                                                                 const counter_trees& counters);

/// Of each the first sample and the highest; of a pool and a device those of each number that they say. As long.
[[nodiscard]] std::vector<trace::last_sample_row> first_and_highest_samples(const memory_use& memory,
                                                                            const counter_trees& counters);

/// The inverse: adds what rows say to what they are of, to be settled before it is asked.
void set_known_samples(std::span<const trace::last_sample_row> rows, memory_use& memory, counter_trees& counters);

}  // namespace sluice::analysis
