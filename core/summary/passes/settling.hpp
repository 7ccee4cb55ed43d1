#pragma once

#include "core/index/recording_facts.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/timeline/time_range.hpp"

/// When what is known of a part of a growing recording will not change any more.
namespace sluice::analysis {

/// What ended so many ns before the end of the recording `whole` does not change any more: two steps, in which it shows whether
/// memory is used again; without steps a tenth of the recording, at most ten seconds.
[[nodiscard]] time_ns settling_time(const step_facts& steps, time_range whole);

/// True while a process is in its first step, until that takes longer than what came before it. Once there is a second one, blocks
/// of the first have other categories.
[[nodiscard]] bool awaits_second_step(const step_facts& steps, time_range whole);

/// False if what is known of the whole recording by now makes figures of its earlier parts others.
[[nodiscard]] bool found_alike(const recording_facts& before, const recording_facts& now);

}  // namespace sluice::analysis
