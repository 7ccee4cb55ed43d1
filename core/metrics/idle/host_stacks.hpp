#pragma once

#include <atomic>
#include <optional>

#include "core/base/time/time_range.hpp"
#include "core/metrics/stack_use.hpp"
#include "core/trace/model/model.hpp"

/// Sums the time that host threads spent in each call stack.
namespace sluice::metrics {

/// Selects samples of host threads. If a member is not set, any value matches.
struct sample_filter {
  std::optional<trace::device_id> device{};  ///< Only threads of processes that run kernels on this device.
  std::optional<trace::thread_id> thread{};
  std::optional<trace::host_state> state{};
};

/// Sums the samples that overlap `range` by stack. `stack_metrics::busy` is the sampled time inside the range, in ns;
/// `alone` is the part of it in which the devices of the thread's process ran nothing (with `filter.device`, in which
/// that device ran nothing); `count` is the number of samples; `bytes` is 0. A process's devices are those on which it
/// runs kernels; if it has none, `alone` is 0. Samples without a stack count under `stack_id::none`. With `part`,
/// returns the contribution of this part of `range`. The contributions of consecutive parts add up to the result for
/// `range`. O(n log n) for n samples and slices of devices in the range. Returns an incomplete result once `cancelled`
/// becomes true.
[[nodiscard]] stack_use sampled_stacks(const index::event_store& store, const sample_filter& filter, time_range range,
                                       const std::atomic<bool>& cancelled, std::optional<time_range> part = {});

}  // namespace sluice::metrics
