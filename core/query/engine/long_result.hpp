#pragma once

#include <atomic>
#include <chrono>

#include "core/base/error.hpp"

namespace sluice::query {

/// A result that takes long to compute, such as that of a search. It is computed in steps, so that other queries run in
/// between, and a partial result is available after each step. Private to core/query. Not thread-safe.
template <class Result>
class long_result {
 public:
  long_result() = default;
  virtual ~long_result() = default;
  long_result(const long_result&) = delete;
  long_result& operator=(const long_result&) = delete;

  /// Runs the next step, and further steps until `deadline`. Returns true after the last step. Errors: cancelled, soon
  /// after `cancelled` is set; those of reading.
  [[nodiscard]] virtual result<bool> work(std::chrono::steady_clock::time_point deadline,
                                          const std::atomic<bool>& cancelled) = 0;
  /// Returns the share of the steps that are done, 0..1.
  [[nodiscard]] virtual float progress() const = 0;
  /// Returns the result of the steps so far. Sets `provisional` if some native functions in the result have no names
  /// yet.
  [[nodiscard]] virtual result<Result> so_far(bool& provisional) = 0;
};

}  // namespace sluice::query
