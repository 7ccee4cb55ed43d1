#pragma once

#include <cstdint>
#include <vector>

#include "core/base/time/time_range.hpp"

/// Computes how much time a process would gain if its host did not block in calls that wait for the device. Times are
/// in ns.
namespace sluice::metrics {

/// A recorded kernel, copy or memset.
struct queued_work {
  time_ns enqueued = 0;  ///< When the host requested the work; not after `begin`.
  time_ns begin = 0;
  time_ns end = 0;
  std::uint32_t stream = 0;  ///< Any number that identifies the stream within the process.
  /// The unit of the device: any number that distinguishes kernels and copy directions; 0: not tied to a unit.
  std::uint8_t engine = 0;
};

/// A copy or memset and another work item that use the same memory. Each is identified by the time at which the host
/// requested it. The second must not begin before the first has ended.
struct work_order {
  time_ns first = 0;
  time_ns second = 0;
};

/// Returns how much earlier the last work item would have ended if none of the calls in `blocked` had taken any time.
///
/// Replays the process. Between the calls, the host does the same things in the same time, so it requests each work
/// item earlier by the time for which it had been blocked until then. A work item starts, with its recorded delay, once
/// it has been requested and its predecessor on the stream has ended. A work item that began even later in the
/// recording is assumed to have waited for work on another stream, namely the last work that ended before the item
/// began. In the replay, the item still waits for that work. Two work items on one engine overlap only if they did so
/// in the recording, because most kernels fill the device. Work items that share memory keep the order that `orders`
/// requires. All host threads count as one thread, because the next action of a thread often depends on another thread.
/// If the device was idle for 5 ms while the host worked, time gained before that interval does not count after it.
///
/// The idea is that of Diogenes (Welton and Miller, "Diogenes: Looking for an Honest CPU/GPU Performance Measurement
/// Tool", SC19): the time spent in a wait is not the time saved by removing it. O(n log n) for n work items, calls and
/// orders.
[[nodiscard]] time_ns gain_of_running_ahead(std::vector<queued_work> works, std::vector<time_range> blocked,
                                            std::vector<work_order> orders = {});

}  // namespace sluice::metrics
