#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

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
    bool mapping = false;   ///< physical memory that is mapped here, not memory of its own
    bool imported = false;  ///< another process's
    pinned_flags flags{.portable = false, .mapped = false, .write_combined = false};
  };

  /// Reserves `bytes` of addresses, or as much of them as a limit on this process allows. `valid` is false if the
  /// system refuses altogether.
  explicit address_space(std::uint64_t bytes);
  ~address_space();
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;

  [[nodiscard]] bool valid() const noexcept { return base_ != 0; }
  /// Null when the range is full or the system refuses the memory.
  [[nodiscard]] void* allocate(std::uint64_t bytes, memory_space space, pinned_flags flags = {});
  /// False if no block begins there.
  bool free(void* address);

  /// Addresses that nothing lies behind yet; `alignment` is a power of two, a granule at least. Null when the range is full.
  [[nodiscard]] void* reserve(std::uint64_t bytes, std::uint64_t alignment);
  /// A whole reservation, with nothing mapped into it. False if it is none.
  bool unreserve(void* address);
  /// The reservation that holds all of a range: its address and bytes; 0 and 0 if none does.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> reservation_of(const void* address,
                                                                       std::uint64_t bytes) const noexcept;
  /// Puts a part of a file behind reserved addresses. False if the system refuses.
  [[nodiscard]] bool map(void* address, std::uint64_t bytes, int file, std::uint64_t offset);
  /// Takes the mapping that begins there away.
  void unmap(void* address);

  /// Moves the bytes of a block into a file that other processes can map, once; later calls give the same descriptor.
  /// It is closed with the block. -1: the system refuses.
  [[nodiscard]] int share(void* address);
  /// A block whose bytes are those of another process's. Null when the system refuses.
  [[nodiscard]] void* import(int file, std::uint64_t bytes);

  /// True if [address, address + bytes) lies in one block, or in mappings side by side. O(log blocks + mappings).
  [[nodiscard]] bool whole(const void* address, std::uint64_t bytes) const noexcept;
  /// The block that holds `address`, or null.
  [[nodiscard]] const block* find(const void* address) const noexcept;
  [[nodiscard]] bool contains(const void* address) const noexcept;
  [[nodiscard]] std::uint64_t name_of(const void* address) const noexcept;
  [[nodiscard]] const std::map<std::uint64_t, block>& blocks() const noexcept { return blocks_; }
  /// Address and bytes of each reservation.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> reservations() const;

 private:
  std::uint64_t base_ = 0;
  std::uint64_t bytes_ = 0;
  void* mapped_ = nullptr;  // what the system gave; the base is aligned within it
  std::uint64_t mapped_bytes_ = 0;
  suballocator free_;
  std::map<std::uint64_t, block> blocks_;
  struct reservation {
    std::uint64_t bytes = 0;
    std::uint64_t taken_at = 0;  // what was taken begins here, before the aligned address
  };
  std::map<std::uint64_t, reservation> reservations_;
  std::map<std::uint64_t, int> shared_;  // descriptors of blocks that other processes can map
};

}  // namespace sluice::backend::simulated
