#pragma once

#include <functional>
#include <span>

#include "core/index/work/steps.hpp"

/// Chooses the range that the window shows first. Private to core/query.
namespace sluice::query {

/// Returns the range to show first.
///
/// With enough steps: twelve from the middle of the steady ones, so that each is wide enough to be recognised. The first
/// quarter does not count as steady, because it compiles, tunes and fills caches. If a late step needs more memory than
/// an early steady one, all steps, because twelve of them would hide the growth. With few steps: all of them.
///
/// With less than two steps in the active time: the time in which devices work, if that is less than half of the active
/// time, because the rest is often the start of the program. Otherwise the active time.
///
/// `steps` must be in order of time. `work` lasts from the first to the last work of a device; it is empty if there is
/// none. `highest_memory` returns the highest memory in use in a range, in any unit. O(steps) calls of it.
[[nodiscard]] time_range choose_opening(time_range active, time_range work, std::span<const index::step> steps,
                                        const std::function<double(time_range)>& highest_memory);

}  // namespace sluice::query
