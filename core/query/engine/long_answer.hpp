#pragma once

#include <atomic>
#include <chrono>

#include "core/base/error.hpp"

namespace sluice::query {

/// An answer that takes long: computed in steps, so that other questions get their turn, and available in part after
/// each step. Private to core/query. Not thread-safe.
template <class Answer>
class long_answer {
 public:
  long_answer() = default;
  virtual ~long_answer() = default;
  long_answer(const long_answer&) = delete;
  long_answer& operator=(const long_answer&) = delete;

  /// Takes the next step, and further steps until `deadline`. Returns true after the last step. Errors: cancelled, as
  /// soon as `cancelled` is set; those of reading.
  [[nodiscard]] virtual result<bool> work(std::chrono::steady_clock::time_point deadline,
                                          const std::atomic<bool>& cancelled) = 0;
  /// The share of all steps that are done, 0..1.
  [[nodiscard]] virtual float progress() const = 0;
  /// The answer from the steps so far. Sets `provisional` if some native functions in it have no names yet.
  [[nodiscard]] virtual result<Answer> so_far(bool& provisional) = 0;
};

}  // namespace sluice::query
