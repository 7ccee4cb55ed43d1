#pragma once

#include <cstdint>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/simulated/memory/managed_memory.hpp"
#include "instrumentation/backend/simulated/memory/virtual_memory.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/graph_memory.hpp"
#include "instrumentation/backend/simulated/state/memory_budget.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"

namespace sluice::backend::simulated {

/// Allocates and frees whole blocks: device, pinned and managed memory.
class memory_blocks {
 public:
  memory_blocks(driver_calls& calls, address_space& memory, memory_budget& budget, const stream_table& streams,
                captures& captures, const graph_memory_pool& graph_memory, managed_memory& managed)
      : calls_(calls),
        memory_(memory),
        budget_(budget),
        streams_(streams),
        captures_(captures),
        graph_memory_(graph_memory),
        managed_(managed) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<void*> allocate(std::uint64_t bytes);
  /// Frees device or managed memory.
  [[nodiscard]] device_result<void> free(void* address);
  [[nodiscard]] device_result<void*> allocate_pinned(std::uint64_t bytes, pinned_flags flags);
  [[nodiscard]] device_result<void> free_pinned(void* address);
  [[nodiscard]] device_result<void*> allocate_managed(std::uint64_t bytes);
  [[nodiscard]] device_result<memory_info> memory();

  /// Writes all blocks, mappings included, into a recording that has just begun. The caller holds the lock.
  void announce(std::uint64_t now, const virtual_memory& mappings) const;

 private:
  // Both functions end the call.
  [[nodiscard]] device_result<void*> allocate(driver_call& call, std::uint64_t bytes, memory_space space,
                                              pinned_flags flags);
  [[nodiscard]] device_result<void> free(driver_call& call, void* address, memory_space space);

  driver_calls& calls_;
  address_space& memory_;
  memory_budget& budget_;
  const stream_table& streams_;
  captures& captures_;
  const graph_memory_pool& graph_memory_;
  managed_memory& managed_;
};

}  // namespace sluice::backend::simulated
