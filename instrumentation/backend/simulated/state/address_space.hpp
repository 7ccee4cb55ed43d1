#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "instrumentation/backend/device.hpp"
#include "instrumentation/backend/suballocator.hpp"

namespace sluice::backend::simulated {

/// The simulated device's address space: one reserved range of host addresses. Allocated parts are readable and
/// writable; any other access faults, so a use after free is detected immediately. Memory uses RAM only after its first
/// access.
///
/// `get_name` returns the address used in traces: a fixed base plus the offset in the range, so it is the same in every
/// run.
class address_space {
 public:
  static constexpr std::uint64_t trace_base = 0x7000'0000'0000;
  static constexpr std::uint64_t granule = 4096;

  struct block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    memory_space space = memory_space::device;
    bool mapping = false;   ///< true for a mapping of physical memory, which has no memory of its own
    bool imported = false;  ///< true for memory of another process
    pinned_flags flags{.portable = false, .mapped = false, .write_combined = false};
  };

  /// Reserves `bytes` of addresses, or fewer if a limit on this process requires that. `valid` returns false if the
  /// system refused the reservation.
  explicit address_space(std::uint64_t bytes);
  ~address_space();
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;

  [[nodiscard]] bool valid() const noexcept { return base_ != 0; }
  /// Returns null if the range is full or the system refuses the memory.
  [[nodiscard]] void* allocate(std::uint64_t bytes, memory_space space, pinned_flags flags = {});
  /// Returns false if no block begins at `address`.
  bool free(void* address);

  /// Reserves addresses without memory. `alignment`: a power of two, at least `granule`. Returns null if the range is
  /// full.
  [[nodiscard]] void* reserve(std::uint64_t bytes, std::uint64_t alignment);
  /// Frees a whole reservation; nothing may be mapped in it. Returns false if no reservation begins at `address`.
  bool unreserve(void* address);
  /// The address and size of the reservation that contains the whole range; {0, 0} if no reservation does.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> get_reservation(const void* address,
                                                                        std::uint64_t bytes) const noexcept;
  /// Maps a part of a file at reserved addresses. Returns false if the system refuses.
  [[nodiscard]] bool map(void* address, std::uint64_t bytes, int file, std::uint64_t offset);
  /// Removes the mapping that begins at `address`.
  void unmap(void* address);

  /// Moves a block's bytes into a file that other processes can map. Returns the file's descriptor, which is the same
  /// in each call for this block and is closed when the block is freed. Returns -1 if the system refuses.
  [[nodiscard]] int share(void* address);
  /// Maps another process's memory as a block. Returns null if the system refuses.
  [[nodiscard]] void* import(int file, std::uint64_t bytes);

  /// True if [address, address + bytes) is inside one block, or inside adjacent mappings. O(log blocks + mappings).
  [[nodiscard]] bool whole(const void* address, std::uint64_t bytes) const noexcept;
  /// The block that contains `address`, or null.
  [[nodiscard]] const block* find(const void* address) const noexcept;
  [[nodiscard]] bool contains(const void* address) const noexcept;
  [[nodiscard]] std::uint64_t get_name(const void* address) const noexcept;
  [[nodiscard]] const std::map<std::uint64_t, block>& blocks() const noexcept { return blocks_; }
  /// Address and size of each reservation.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> reservations() const;

 private:
  std::uint64_t base_ = 0;
  std::uint64_t bytes_ = 0;
  void* mapped_ = nullptr;  // the range from the system; `base_` is aligned within it
  std::uint64_t mapped_bytes_ = 0;
  suballocator free_;
  std::map<std::uint64_t, block> blocks_;
  struct reservation {
    std::uint64_t bytes = 0;
    std::uint64_t taken_at = 0;  // start of the allocation, at or before the aligned address
  };
  std::map<std::uint64_t, reservation> reservations_;
  std::map<std::uint64_t, int> shared_;  // file descriptors of blocks shared with other processes
};

}  // namespace sluice::backend::simulated
