#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/state/address_map.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/engines.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"

namespace sluice::backend::simulated {

/// Managed memory: where each piece of a block is, and the migration of pieces between the host and the device. A piece
/// has `cost_model::migration_piece` bytes. Only pieces on the device use device memory.
class managed_memory {
 public:
  managed_memory(driver_calls& calls, const address_space& memory, const address_map& addresses, stream_table& streams,
                 engines& engines, memory_budget& budget)
      : calls_(calls), memory_(memory), addresses_(addresses), streams_(streams), engines_(engines), budget_(budget) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<void> prefetch(void* address, std::uint64_t bytes, memory_location to,
                                             stream_handle stream);
  [[nodiscard]] device_result<void> advise(void* address, std::uint64_t bytes, memory_advice advice);
  void touch_on_host(void* address, std::uint64_t bytes);
  /// Adds a block that has just been allocated. None of it is resident until it is first touched.
  void add(const void* address, std::uint64_t bytes);

  // The caller of the functions below holds the lock.

  /// Removes a block that is being freed.
  void remove(const void* address);
  /// Moves the range to the device (if `to_device`) or to the host, piece by piece from `ready` on. Returns when the
  /// last piece arrives.
  std::int64_t migrate(const void* address, std::uint64_t bytes, bool to_device, bool written, std::int64_t ready,
                       double rate, std::int64_t latency, trace::migration_cause cause);

 private:
  struct managed_block {
    std::uint64_t bytes = 0;
    std::vector<std::uint8_t> where;  // one per piece: bits `at_host`, `at_device`
    bool read_mostly = false;
  };
  static constexpr std::uint8_t at_host = 1, at_device = 2;

  /// The managed block that contains the whole range, or null.
  [[nodiscard]] const address_space::block* find(const void* address, std::uint64_t bytes) const noexcept;
  /// Moves pieces of other blocks to the host until `bytes` of device memory are free, or no such piece is left.
  void evict_for(std::uint64_t bytes, std::uint64_t keep_block, std::int64_t ready);

  driver_calls& calls_;
  const address_space& memory_;
  const address_map& addresses_;
  stream_table& streams_;
  engines& engines_;
  memory_budget& budget_;
  std::map<std::uint64_t, managed_block> blocks_;  // by address
};

}  // namespace sluice::backend::simulated
