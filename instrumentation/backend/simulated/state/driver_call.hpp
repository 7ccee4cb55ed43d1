#pragma once

#include <cstdint>
#include <mutex>

#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/backend/simulated/cost_model.hpp"
#include "instrumentation/backend/simulated/work_queue.hpp"

namespace sluice::backend::simulated {

/// A driver call in progress. It has the call's identity in the trace and holds the device's lock.
struct driver_call : driver_log::call {
  std::unique_lock<std::mutex> lock;
  std::int64_t end = 0;  ///< when the call returns, on the simulated clock; a call that waits moves this time

  /// `end` in the type that records use.
  [[nodiscard]] std::uint64_t recorded_end() const noexcept { return static_cast<std::uint64_t>(end); }
};

/// Begins and ends the calls of one simulated device. Owns what every call uses: the device's lock, its clock, its log,
/// and the queue of the work that has yet to run.
class driver_calls {
 public:
  /// `costs` must outlive this object.
  driver_calls(const cost_model& costs, std::uint32_t device_key, std::uint32_t context_key)
      : costs_(costs), log_(device_key, context_key) {}

  /// Begins a call that is recorded, with a correlation id. The call takes `cost` ns of the calling thread's time.
  [[nodiscard]] driver_call begin(const char* name, std::int64_t cost);
  /// Begins a call that is not recorded, such as a query.
  [[nodiscard]] driver_call begin_unrecorded(const char* name, std::int64_t cost);
  /// Ends a call: runs the work that ends by the call's end, releases the lock and advances the thread's clock. A call
  /// that fails before it reaches the device may skip this; then it takes no time.
  void finish(driver_call& call);

  /// Takes the device's lock for a query that takes no time.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  [[nodiscard]] const cost_model& costs() const noexcept { return costs_; }
  [[nodiscard]] const driver_log& log() const noexcept { return log_; }
  [[nodiscard]] simulated_clock& clock() noexcept { return clock_; }
  /// The queue needs the lock.
  [[nodiscard]] work_queue& queue() noexcept { return queue_; }

 private:
  const cost_model& costs_;
  const driver_log log_;
  simulated_clock clock_;
  std::mutex mutex_;
  work_queue queue_;
  std::uint32_t next_correlation_ = 1;
};

}  // namespace sluice::backend::simulated
