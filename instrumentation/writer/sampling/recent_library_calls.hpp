#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// The latest long library calls of each thread of a process (`ring::library_call_record`), to be joined with samples
/// of its threads by time. Keeps `max_calls` of a thread, none of which ended more than `max_age` before the thread's
/// latest; of at most `max_threads` threads. Not thread-safe.
class recent_library_calls {
 public:
  static constexpr std::size_t max_calls = 256, max_threads = 512;
  static constexpr trace::time_ns max_age = 2'000'000'000;

  /// The thread entered a call with this stack key; or, if the key is 0, left the innermost one that it is in. In order
  /// of time for each thread. O(calls).
  void add(std::uint64_t tid, trace::time_ns time, std::uint64_t stack_key);

  /// The stack key of the innermost call that `tid` was in at `time`; 0: none. O(calls).
  [[nodiscard]] std::uint64_t find(std::uint64_t tid, trace::time_ns time) const;

  /// Forgets everything.
  void clear() { threads_.clear(); }

 private:
  struct call {
    trace::time_ns begin, end;
    std::uint64_t stack_key;
  };
  std::unordered_map<std::uint64_t, std::deque<call>> threads_;  ///< In order of `begin`.
};

}  // namespace sluice::writer
