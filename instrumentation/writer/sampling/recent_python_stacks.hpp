#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "core/trace/model/ids.hpp"

namespace sluice::writer {

/// The frames of Python that a thread of the recorded process read in another thread.
struct python_sample {
  trace::time_ns time = 0;        ///< When they were read.
  std::uint64_t stack_key = 0;    ///< A stack that the process has declared.
  std::uint64_t entries[2] = {};  ///< One bit for each frame: see `unwind::python_part`.
  std::uint32_t count = 0;        ///< The number of frames.
};

/// The latest samples of Python frames of each thread of a process, until the samples of native frames arrive. Keeps a
/// limited number for each of a limited number of threads. Not thread-safe.
class recent_python_stacks {
 public:
  void add(std::uint64_t tid, const python_sample& sample) {
    if (threads_.size() >= max_threads && !threads_.contains(tid)) threads_.clear();
    std::deque<python_sample>& known = threads_[tid];
    known.push_back(sample);
    if (known.size() > max_samples) known.pop_front();
  }

  /// The sample of `tid` nearest to `time`, at most `max_distance` away. O(kept samples).
  [[nodiscard]] std::optional<python_sample> find(std::uint64_t tid, trace::time_ns time,
                                                  trace::time_ns max_distance) const {
    std::optional<python_sample> nearest;
    const auto known = threads_.find(tid);
    if (known == threads_.end()) return nearest;
    for (const python_sample& each : known->second) {
      const trace::time_ns distance = each.time > time ? each.time - time : time - each.time;
      if (distance > max_distance) continue;
      max_distance = distance;
      nearest = each;
    }
    return nearest;
  }

 private:
  static constexpr std::size_t max_threads = 4096;
  static constexpr std::size_t max_samples = 512;  ///< A second at 500 a second.
  std::unordered_map<std::uint64_t, std::deque<python_sample>> threads_;
};

}  // namespace sluice::writer
