#pragma once

#include <cstdint>
#include <map>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"

namespace sluice::backend::simulated {

/// The events of a device, and the driver's calls on them.
class events {
 public:
  events(driver_calls& calls, stream_table& streams, captures& captures)
      : calls_(calls), streams_(streams), captures_(captures) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<event_handle> create_event(event_flags flags);
  void destroy_event(event_handle event) noexcept;
  [[nodiscard]] device_result<void> record_event(event_handle event, stream_handle stream);
  [[nodiscard]] device_result<void> wait_event(stream_handle stream, event_handle event);
  [[nodiscard]] device_result<void> sync_event(event_handle event);
  [[nodiscard]] device_result<bool> event_done(event_handle event);
  [[nodiscard]] device_result<float> elapsed_ms(event_handle begin, event_handle end);

  // The caller of the functions below holds the lock.
  [[nodiscard]] event_handle add(event_state state);
  /// Null if there is no such event.
  [[nodiscard]] event_state* find(event_handle event);

 private:
  driver_calls& calls_;
  stream_table& streams_;
  captures& captures_;
  std::map<std::uint64_t, event_state> events_;  // by handle
  std::uint64_t next_event_ = 1;
};

}  // namespace sluice::backend::simulated
