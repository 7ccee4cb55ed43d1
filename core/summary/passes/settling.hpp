#pragma once

#include "core/base/time/time_range.hpp"
#include "core/index/recording_facts.hpp"
#include "core/index/tensor_facts.hpp"

/// Decides when the facts about a part of a growing recording will no longer change.
namespace sluice::summary {

/// Returns the length in ns of the last part of the recording `whole`, whose facts may still change. This is two steps,
/// after which it is known whether memory is used again. Without steps, it is a tenth of the recording, at most ten
/// seconds.
[[nodiscard]] time_ns settling_time(const index::step_facts& steps, time_range whole);

/// True while any process is in its first step and that step is shorter than the time before it. Once the second step
/// starts, blocks of the first step get other categories.
[[nodiscard]] bool awaits_second_step(const index::step_facts& steps, time_range whole);

/// False if the facts that are now known about the whole recording would change the metrics of parts settled with the
/// facts `before`.
[[nodiscard]] bool found_alike(const index::recording_facts& before, const index::recording_facts& now);

}  // namespace sluice::summary
