#pragma once

#include <cstddef>
#include <vector>

#include "core/trace/model/ids.hpp"

namespace sluice::importing {

/// Preserves a file's order of allocations and frees that have the same time. Times in many files are in microseconds,
/// and a block may be allocated and freed in the same microsecond. This class moves a free that follows an allocation
/// with the same time by 1 ns, and also the later events with that time. All other events keep their time. As a result,
/// peaks of memory in use are those of the file's order, and each block is live for at least 1 ns.
///
/// Importers call `allocation` or `free` for each of these events, in the file's order. The class remembers the last
/// `max_times` times, for files in which times go backwards. Not thread-safe.
class event_order {
 public:
  static constexpr std::size_t max_times = 1024;

  /// Returns the time to use for an allocation or a free that has the time `time` in the file. O(1) if times do not go
  /// backwards; otherwise O(log `max_times`), or O(`max_times`) if no other event has that time.
  [[nodiscard]] trace::time_ns allocation(trace::time_ns time) { return next(time, false); }
  [[nodiscard]] trace::time_ns free(trace::time_ns time) { return next(time, true); }

 private:
  struct moment {
    trace::time_ns said = 0;  ///< The time in the file.
    trace::time_ns last = 0;  ///< The time used for the last event that has the time `said`.
    bool allocated = false;   ///< True if that event is an allocation.
  };

  [[nodiscard]] trace::time_ns next(trace::time_ns time, bool is_free);

  std::vector<moment> moments_;  ///< Sorted by time.
};

}  // namespace sluice::importing
