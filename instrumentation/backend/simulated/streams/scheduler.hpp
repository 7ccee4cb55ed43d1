#pragma once

#include <cstdint>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/memory/managed_memory.hpp"
#include "instrumentation/backend/simulated/state/address_map.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/engines.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"
#include "instrumentation/backend/simulated/state/work_item.hpp"

namespace sluice::backend::simulated {

/// Schedules work on the engines and puts it into the queue of pending work. The caller holds the device's lock.
class scheduler {
 public:
  scheduler(driver_calls& calls, stream_table& streams, captures& captures, engines& engines, managed_memory& managed,
            const address_map& addresses, const memory_budget& budget)
      : calls_(calls),
        streams_(streams),
        captures_(captures),
        engines_(engines),
        managed_(managed),
        addresses_(addresses),
        budget_(budget) {}

  /// Schedules work no earlier than `ready`, and the migration of its managed memory no earlier than `faults_from`.
  span start(const work_item& item, std::int64_t faults_from, std::int64_t ready, int priority);
  /// Schedules work on a stream. If the host has to wait, `call.end` is moved to the end of the wait.
  span enqueue(driver_call& call, stream_handle stream, stream_state& state, const work_item& item);
  /// Schedules work on a stream, or adds it to the graph that the stream is being captured into. Records the call and
  /// ends it. An `item` that is an error fails the call.
  [[nodiscard]] device_result<void> enqueue(driver_call& call, stream_handle stream, device_result<work_item> item);
  /// From now on, the engine schedules no work before `time`.
  void forget_before(std::int64_t time, engine which, int priority);

  /// Returns false if memory that the work needs has been freed. From then on, `error` returns an illegal address.
  [[nodiscard]] bool alive(const void* address, std::uint64_t bytes);
  /// The error of failed work, which every later synchronization returns. It stays set, as in CUDA.
  [[nodiscard]] const device_result<void>& error() const noexcept { return error_; }

 private:
  driver_calls& calls_;
  stream_table& streams_;
  captures& captures_;
  engines& engines_;
  managed_memory& managed_;
  const address_map& addresses_;
  const memory_budget& budget_;
  device_result<void> error_;
};

}  // namespace sluice::backend::simulated
