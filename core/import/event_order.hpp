#pragma once

#include <cstddef>
#include <vector>

#include "core/trace/model/ids.hpp"

namespace sluice::importing {

/// Keeps the order that allocations and frees have in a file, where several have the same time: clocks of files count
/// microseconds, and a block may live for less. A free that follows an allocation at its time counts 1 ns later, and so
/// does what follows it; all else keeps its time. So memory in use has the same highs as one event after the other has,
/// and each block lives for 1 ns at least.
///
/// Every importer asks this for the time of each allocation and free, in the file's order. Of events whose times go
/// back, the last `most_times` times are remembered. Not thread-safe.
class event_order {
 public:
  static constexpr std::size_t most_times = 1024;

  /// When an allocation, or a free, counts that the file says is at `time`. O(1) where times do not go back; else
  /// O(log `most_times`), and O(`most_times`) for one that is new.
  [[nodiscard]] trace::time_ns allocation(trace::time_ns time) { return next(time, false); }
  [[nodiscard]] trace::time_ns free(trace::time_ns time) { return next(time, true); }

 private:
  struct moment {
    trace::time_ns said = 0;  ///< The time in the file.
    trace::time_ns last = 0;  ///< When the last event of that time counts.
    bool allocated = false;   ///< Whether that event is an allocation.
  };

  [[nodiscard]] trace::time_ns next(trace::time_ns time, bool is_free);

  std::vector<moment> moments_;  ///< By time.
};

}  // namespace sluice::importing
