#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/memory/driver_pools.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"
#include "instrumentation/backend/simulated/streams/events.hpp"

namespace sluice::backend::simulated {

/// Memory and events shared between processes: unnamed files that the other process opens through /proc. The functions
/// are those of the device interface; they take the device's lock.
class sharing {
 public:
  /// `uuid` identifies the device in handles. `supported`: false if the device cannot share memory.
  sharing(driver_calls& calls, address_space& memory, const stream_table& streams, const driver_pools& pools,
          events& events, const std::array<std::uint8_t, 16>& uuid, bool supported)
      : calls_(calls),
        memory_(memory),
        streams_(streams),
        pools_(pools),
        events_(events),
        uuid_(uuid),
        supported_(supported) {}

  [[nodiscard]] device_result<ipc_memory_handle> export_memory(void* address);
  [[nodiscard]] device_result<void*> import_memory(const ipc_memory_handle& handle);
  [[nodiscard]] device_result<void> close_memory(void* address);
  [[nodiscard]] device_result<ipc_event_handle> export_event(event_handle event);
  [[nodiscard]] device_result<event_handle> import_event(const ipc_event_handle& handle);

 private:
  driver_calls& calls_;
  address_space& memory_;
  const stream_table& streams_;
  const driver_pools& pools_;
  events& events_;
  const std::array<std::uint8_t, 16> uuid_;
  bool supported_;
  std::map<std::uint64_t, std::uint64_t> imports_;  // address -> number of imports not closed yet
  std::map<std::string, std::uint64_t> imported_;   // handle's bytes -> address
};

}  // namespace sluice::backend::simulated
