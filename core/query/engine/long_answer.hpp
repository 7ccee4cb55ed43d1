#pragma once

#include <atomic>
#include <chrono>

#include "core/base/error.hpp"

namespace sluice::query {

/// An answer that takes long: worked out some at a time, so that other questions have their turn, and shown as far as it is known. Private
/// to core/query. Not thread-safe.
template <class Answer>
class long_answer {
 public:
  long_answer() = default;
  virtual ~long_answer() = default;
  long_answer(const long_answer&) = delete;
  long_answer& operator=(const long_answer&) = delete;

  /// Takes the next step, and further ones until `deadline`. True once there are none. Errors: cancelled, as soon as `cancelled` is
  /// set; those of reading.
  [[nodiscard]] virtual result<bool> work(std::chrono::steady_clock::time_point deadline,
                                          const std::atomic<bool>& cancelled) = 0;
  /// Share of all steps that was taken, 0..1.
  [[nodiscard]] virtual float progress() const = 0;
  /// What the steps so far say. Sets `provisional` if some native functions in it are still to be named.
  [[nodiscard]] virtual result<Answer> so_far(bool& provisional) = 0;
};

}  // namespace sluice::query
