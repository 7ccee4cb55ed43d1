#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Samples (values that hold until the next sample) that an index of a section, a time span, needs from outside of it.
namespace sluice::analysis {

using counter_trees = std::map<trace::counter_id, timeline::sample_tree>;

/// Returns the last sample before `boundary` of each counter, pool and device that has one. O(log samples) for each.
[[nodiscard]] std::vector<trace::last_sample_row> samples_before(time_ns boundary, const memory_use& memory,
                                                                 const counter_trees& counters);

/// Returns the samples of devices in `run`, as rows of the section that begins at `begin`.
[[nodiscard]] std::vector<trace::last_sample_row> device_samples_in(time_range run, time_ns begin,
                                                                    const memory_use& memory);

/// Returns the first and the highest sample of each number (such as a pool's `used`) of each counter, pool and device.
[[nodiscard]] std::vector<trace::last_sample_row> first_and_highest_samples(const memory_use& memory,
                                                                            const counter_trees& counters);

/// Adds the samples in `rows` to `memory` and `counters`. Call their `settle` before any query.
void set_known_samples(std::span<const trace::last_sample_row> rows, memory_use& memory, counter_trees& counters);

/// Adds what is not tracked at the samples of devices in `rows`, as their `value`. `memory` then computes none.
void set_known_untracked(std::span<const trace::last_sample_row> rows, memory_use& memory);

}  // namespace sluice::analysis
