#pragma once

#include <cstdint>
#include <map>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"

namespace sluice::backend::simulated {

/// The program's own host memory that the device knows: registered ranges, which are pinned, and file mappings.
class host_memory {
 public:
  struct range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t name = 0;  ///< its address in traces, if registered
    pinned_flags flags{};    ///< if registered
    bool writable = false;   ///< if a file mapping
  };

  host_memory(driver_calls& calls, const address_space& memory, const stream_table& streams)
      : calls_(calls), memory_(memory), streams_(streams) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<void> register_host(void* address, std::uint64_t bytes, registration_flags flags);
  [[nodiscard]] device_result<void> unregister_host(void* address);
  void note_file_mapping(const void* address, std::uint64_t bytes, bool writable);
  void forget_file_mapping(const void* address);
  /// Advances the calling thread's clock by the duration of the host work. This function needs no lock.
  void spend(host_work work, std::uint64_t bytes);

  /// The registered range that contains `address`, or null. The caller holds the lock.
  [[nodiscard]] const range* find_registered(const void* address) const noexcept;
  /// The file mapping that contains `address`, or null. The caller holds the lock.
  [[nodiscard]] const range* find_file_mapping(const void* address) const noexcept;

 private:
  driver_calls& calls_;
  const address_space& memory_;
  const stream_table& streams_;
  std::map<std::uint64_t, range> registered_;     // by address
  std::map<std::uint64_t, range> file_mappings_;  // by address
  std::uint64_t next_name_ = 0x5000'0000'0000;
};

}  // namespace sluice::backend::simulated
