#pragma once

#include <cstdint>
#include <vector>

namespace sluice::backend::simulated {

/// One engine of the simulated device: it does one thing at a time, and takes whatever is ready first. Work is booked
/// when it is enqueued, so a piece that must wait for a later event leaves a gap that others may fill, as streams
/// with separate queues do.
class timeline {
 public:
  /// Books `duration` at the earliest time from `ready` on; returns the start. O(pieces still ahead of `ready`).
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

  /// Forgets what ended before `time`: nobody can be enqueued there any more.
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
