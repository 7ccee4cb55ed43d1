#pragma once

#include <cstdint>
#include <vector>

#include "core/timeline/time_range.hpp"

/// What a process would gain if its host did not stand still in calls that wait for the device. Times in ns.
namespace sluice::analysis {

/// A kernel, copy or memset as it ran.
struct queued_work {
  time_ns enqueued = 0;  ///< When the host called for it, <= begin.
  time_ns begin = 0;
  time_ns end = 0;
  std::uint32_t stream = 0;  ///< Any number that tells the process's streams apart.
  std::uint8_t engine =
      0;  ///< What of the device does it: any number that tells kernels and ways of copies apart; 0: shared.
};

/// A copy or memset and another work that use the same memory, each named by when it was called for: the second must not
/// begin before the first has ended.
struct work_order {
  time_ns first = 0;
  time_ns second = 0;
};

/// Returns how much earlier the last work would have ended if none of the calls in `blocked` had taken time.
///
/// Plays the process again: the host does what it did between the calls, in the same time, so each call for work comes
/// earlier by the time that the host had stood still until then. A work starts when it is called for and the one before it
/// on its stream has ended, with the delays that it had. One that waited longer than that has waited for the work of another
/// stream that ended last before it began, and still does. No two works of one engine run beside each other that did not do so:
/// most kernels fill the device. Works keep the order that the memory needs which they share (`orders`). All threads of
/// the host count as one: what one of them does next often depends on another. What is won before 5 ms of idle time in which
/// the host worked is not carried beyond it.
///
/// The idea is Diogenes' (Welton and Miller, "Diogenes: Looking for an Honest CPU/GPU Performance Measurement Tool", SC19):
/// the time in a wait is not what removing it saves. O(n log n) for n works, calls and orders.
[[nodiscard]] time_ns gain_of_running_ahead(std::vector<queued_work> works, std::vector<time_range> blocked,
                                            std::vector<work_order> orders = {});

}  // namespace sluice::analysis
