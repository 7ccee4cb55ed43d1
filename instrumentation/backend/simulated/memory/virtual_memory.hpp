#pragma once

#include <cstdint>
#include <map>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/memory/physical_memory.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"

namespace sluice::backend::simulated {

/// Virtual memory: addresses, physical memory and mappings. They are recorded as three blocks, as with a real driver.
class virtual_memory {
 public:
  /// `supported`: false if the device lacks the feature. `capacity`: the most bytes of physical memory.
  virtual_memory(driver_calls& calls, address_space& memory, memory_budget& budget, bool supported,
                 std::uint64_t capacity)
      : calls_(calls), memory_(memory), budget_(budget), supported_(supported), physical_memory_(capacity) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<std::uint64_t> granularity() const;
  [[nodiscard]] device_result<void*> reserve_addresses(std::uint64_t bytes, std::uint64_t alignment);
  [[nodiscard]] device_result<void> free_addresses(void* address, std::uint64_t bytes);
  [[nodiscard]] device_result<physical_handle> create_physical(std::uint64_t bytes);
  [[nodiscard]] device_result<void> release_physical(physical_handle physical);
  [[nodiscard]] device_result<void> map(void* address, std::uint64_t bytes, physical_handle physical);
  [[nodiscard]] device_result<void> unmap(void* address, std::uint64_t bytes);

  // The caller of the functions below holds the lock.

  /// The handle of the physical memory of the mapping that begins at `address`; 0 if there is no such mapping.
  [[nodiscard]] std::uint64_t physical_at(std::uint64_t address) const;
  /// Writes reservations and physical memory, but no mappings, into a recording that has just begun.
  void announce(std::uint64_t now) const;

 private:
  struct physical_state {
    std::uint64_t offset = 0, bytes = 0;
    std::uint64_t mappings = 0;
    bool released = false;
  };
  using physical_map = std::map<std::uint64_t, physical_state>;

  /// Frees physical memory that was released, once it is mapped nowhere.
  void drop_unmapped(physical_map::iterator physical, std::int64_t now);

  driver_calls& calls_;
  address_space& memory_;
  memory_budget& budget_;
  bool supported_;
  physical_memory physical_memory_;
  physical_map physical_;                            // by handle
  std::map<std::uint64_t, std::uint64_t> mappings_;  // address -> handle
  std::uint64_t next_physical_ = 1;
};

}  // namespace sluice::backend::simulated
