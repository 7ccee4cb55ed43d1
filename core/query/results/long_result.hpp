#pragma once

#include <atomic>
#include <chrono>

#include "core/query/types/any_value.hpp"

namespace sluice::query {

/// A result that takes long to compute, such as that of a search. It is computed in steps, so that other queries run in
/// between, and a partial result is available after each step. Private to core/query. Not thread-safe.
class any_long_result {
 public:
  using deadline_type = std::chrono::steady_clock::time_point;

  any_long_result() = default;
  virtual ~any_long_result() = default;
  any_long_result(const any_long_result&) = delete;
  any_long_result& operator=(const any_long_result&) = delete;

  /// Runs the next step, and further steps until `deadline`. Returns true after the last step. Errors: cancelled, soon
  /// after `cancelled` is set; those of reading.
  [[nodiscard]] virtual result<bool> work(deadline_type deadline, const std::atomic<bool>& cancelled) = 0;
  /// Returns the share of the steps that are done, 0..1.
  [[nodiscard]] virtual float progress() const = 0;
  /// Returns the result of the steps so far. Sets `provisional` if some native functions in the result have no names
  /// yet.
  [[nodiscard]] virtual result<any_value> any_so_far(bool& provisional) = 0;
};

/// The same for a known type of result.
template <class Result>
class long_result : public any_long_result {
 public:
  [[nodiscard]] virtual result<Result> so_far(bool& provisional) = 0;
  [[nodiscard]] result<any_value> any_so_far(bool& provisional) final { return to_any(so_far(provisional)); }

  /// Runs all steps.
  [[nodiscard]] result<Result> finish(const std::atomic<bool>& cancelled, bool& provisional) {
    const auto done = work(deadline_type::max(), cancelled);
    return done ? so_far(provisional) : tl::unexpected<error>(done.error());
  }
};

}  // namespace sluice::query
