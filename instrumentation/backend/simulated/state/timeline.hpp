#pragma once

#include <cstdint>
#include <vector>

namespace sluice::backend::simulated {

/// The schedule of one engine of the simulated device (e.g. a copy engine), which does one piece of work at a time.
/// Work is scheduled when it is enqueued. If it must wait for an event, the engine's time before it stays free for work
/// that is enqueued later, as with streams that have separate queues.
class timeline {
 public:
  /// Schedules work of length `duration` at the earliest free time from `ready` on; returns its start. O(number of
  /// intervals still kept).
  [[nodiscard]] std::int64_t book(std::int64_t ready, std::int64_t duration) {
    std::int64_t start = ready;
    std::size_t at = 0;
    while (at < busy_.size() && busy_[at].begin < start + duration) {
      if (busy_[at].end > start) start = busy_[at].end;
      ++at;
    }
    busy_.insert(busy_.begin() + static_cast<std::ptrdiff_t>(at), {start, start + duration});
    return start;
  }

  /// Drops intervals that end by `time`; from now on, no work can be scheduled before that time.
  void forget_before(std::int64_t time) {
    std::size_t gone = 0;
    while (gone < busy_.size() && busy_[gone].end <= time) ++gone;
    busy_.erase(busy_.begin(), busy_.begin() + static_cast<std::ptrdiff_t>(gone));
  }

 private:
  struct interval {
    std::int64_t begin, end;
  };
  std::vector<interval> busy_;  // ascending, disjoint
};

}  // namespace sluice::backend::simulated
