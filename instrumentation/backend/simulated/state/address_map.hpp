#pragma once

#include <cstdint>

#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/host_memory.hpp"
#include "instrumentation/backend/suballocator.hpp"

namespace sluice::backend::simulated {

/// Answers queries about addresses, in the device's memory or in registered host memory. It has no state of its own.
/// The caller holds the device's lock.
class address_map {
 public:
  address_map(const address_space& memory, const host_memory& host, std::uint32_t ordinal)
      : memory_(memory), host_(host), ordinal_(ordinal) {}

  [[nodiscard]] memory_space space(const void* address) const noexcept;
  /// The address in traces; 0 for pageable memory.
  [[nodiscard]] std::uint64_t name(const void* address) const noexcept;
  /// False if the range begins in the device's memory, but is not inside one live block or adjacent mappings.
  [[nodiscard]] bool valid(const void* address, std::uint64_t bytes) const noexcept;
  /// True if a kernel may access the range: live device, managed or pinned memory, or host memory registered as mapped.
  [[nodiscard]] bool reachable(const void* address, std::uint64_t bytes) const noexcept;
  /// `pool_block`: the block of a driver pool that contains the address; null if there is none.
  [[nodiscard]] pointer_info describe(const void* address, const suballocator::block* pool_block) const;

 private:
  const address_space& memory_;
  const host_memory& host_;
  std::uint32_t ordinal_;
};

}  // namespace sluice::backend::simulated
