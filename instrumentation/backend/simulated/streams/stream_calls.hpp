#pragma once

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/memory/driver_pools.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"
#include "instrumentation/backend/simulated/streams/scheduler.hpp"

namespace sluice::backend::simulated {

/// The driver's calls on streams: create, destroy, query and synchronize. The functions are those of the device
/// interface; they take the device's lock.
class stream_calls {
 public:
  stream_calls(driver_calls& calls, stream_table& streams, captures& captures, driver_pools& pools,
               const scheduler& scheduler)
      : calls_(calls), streams_(streams), captures_(captures), pools_(pools), scheduler_(scheduler) {}

  [[nodiscard]] device_result<stream_handle> create_stream(stream_flags flags);
  void destroy_stream(stream_handle stream) noexcept;
  [[nodiscard]] device_result<void> sync_stream(stream_handle stream);
  [[nodiscard]] device_result<bool> stream_idle(stream_handle stream);
  [[nodiscard]] static priority_range priorities() noexcept;
  [[nodiscard]] device_result<int> stream_priority(stream_handle stream);
  [[nodiscard]] device_result<void> synchronize();

 private:
  driver_calls& calls_;
  stream_table& streams_;
  captures& captures_;
  driver_pools& pools_;
  const scheduler& scheduler_;
};

}  // namespace sluice::backend::simulated
