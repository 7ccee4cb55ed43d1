#pragma once

#include "core/metrics/findings/shared/finder.hpp"

/// Which replay of an allocator a finding quotes. Private to core/metrics.
namespace sluice::metrics {

/// Returns the replay of the allocator that a framework uses on the device; null if there is no replay.
[[nodiscard]] const reserved_replay* replay_on(const finder& in, trace::device_id device);

/// Returns the setting that reserves the least memory in the replay. Returns null if its saving, reduced by the model's
/// error, is not worth a warning. A setting under which an allocation fails is never chosen.
[[nodiscard]] const policy_outcome* winning_policy(const reserved_replay& subject);

}  // namespace sluice::metrics
