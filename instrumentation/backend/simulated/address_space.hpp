#pragma once

#include <cstdint>
#include <map>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/backend/suballocator.hpp"

namespace sluice::backend::simulated {

/// The simulated device's addresses: one reserved range of the host's address space, of which allocated parts are
/// readable and writable and everything else faults, so that a use after free shows at once. Memory costs RAM only
/// once touched.
///
/// `name_of` gives the address that traces use: the offset in the range from a fixed base, the same in every run.
class address_space {
 public:
  static constexpr std::uint64_t trace_base = 0x7000'0000'0000;
  static constexpr std::uint64_t granule = 4096;

  struct block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    memory_space space = memory_space::device;
  };

  /// Reserves `bytes` of addresses, or as much of them as a limit on this process allows. `valid` is false if the
  /// system refuses altogether.
  explicit address_space(std::uint64_t bytes);
  ~address_space();
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;

  [[nodiscard]] bool valid() const noexcept { return base_ != 0; }
  /// Null when the range is full or the system refuses the memory.
  [[nodiscard]] void* allocate(std::uint64_t bytes, memory_space space);
  /// False if no block begins there.
  bool free(void* address);
  /// The block that holds `address`, or null.
  [[nodiscard]] const block* find(const void* address) const noexcept;
  [[nodiscard]] bool contains(const void* address) const noexcept;
  [[nodiscard]] std::uint64_t name_of(const void* address) const noexcept;
  [[nodiscard]] const std::map<std::uint64_t, block>& blocks() const noexcept { return blocks_; }

 private:
  std::uint64_t base_ = 0;
  std::uint64_t bytes_ = 0;
  suballocator free_;
  std::map<std::uint64_t, block> blocks_;
};

}  // namespace sluice::backend::simulated
