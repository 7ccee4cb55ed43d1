#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// The Python frames of a thread at one time, which a thread of its process read (`ring::python_sample_record`).
struct python_sample {
  trace::time_ns time = 0;      ///< On the trace's clock.
  std::uint64_t stack_key = 0;  ///< Of the process's stacks; 0: the thread ran no Python code.
  /// One bit per frame, innermost first: set if the frame begins an evaluation.
  std::array<std::uint64_t, 4> entries{};
  std::uint32_t count = 0;  ///< Number of frames.
};

/// The latest Python stacks of each thread of a process, to be joined with native samples by time. Keeps at most
/// `max_samples` of a thread, and none that is more than `max_age` older than the thread's latest; at most
/// `max_threads` threads, those with the latest samples. Not thread-safe.
class recent_python_stacks {
 public:
  static constexpr std::size_t max_samples = 2048, max_threads = 512;
  static constexpr trace::time_ns max_age = 2'000'000'000;

  /// Adds a sample. Samples of a thread may come out of order. O(1) if in order and the thread is known.
  void add(std::uint64_t tid, const python_sample& sample);

  /// The sample of `tid` nearest to `time`, the earlier of two equally near; none if that is more than `max_distance`
  /// away. O(log samples).
  [[nodiscard]] std::optional<python_sample> find(std::uint64_t tid, trace::time_ns time,
                                                  trace::time_ns max_distance) const;

  /// Forgets everything.
  void clear() { threads_.clear(); }

 private:
  using samples = std::deque<python_sample>;  ///< In order of time.

  [[nodiscard]] samples& get_thread(std::uint64_t tid);

  std::unordered_map<std::uint64_t, samples> threads_;  ///< None is empty, except while a sample is added.
};

}  // namespace sluice::writer
