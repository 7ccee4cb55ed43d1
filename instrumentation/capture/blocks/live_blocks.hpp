#pragma once

#include <atomic>
#include <cstdint>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/ring/hot.hpp"

/// A table of all allocated blocks of this process, of every layer (driver, pool, framework ...), by address. The
/// capture library uses it to find the blocks that a graph node's parameters point into, and to send all live blocks
/// again after records were lost. The table is a page table over the 47 bits of user addresses: nodes of 8 GiB contain
/// regions of 2 MiB. A region has, per layer, a bitmap of block starts (one bit per 256 bytes) and, per 16 KiB, the
/// block that begins earlier and extends into it. Blocks of one layer do not overlap, so the block that contains an
/// address is the last block that begins at or before that address. The start of this block is in the bitmap word of
/// the address's 16 KiB, or stored for these 16 KiB or for the region. A lookup takes five to eight loads and no loop
/// over blocks.
///
/// The table is thread-safe without locks. A reader sees a block completely or not at all. Remove overlapping blocks
/// before adding a new one. The order of driver and allocator calls ensures this, because a free is seen at its entry
/// and an allocation at its exit. If a caller violates the order, lookups miss blocks, but nothing worse happens. A
/// forked child starts with an empty table. Memory: 4 KiB per 128 KiB of addresses in which a block ever began (80 GB
/// of blocks up to 16 KiB: 2.5 GB; the 2,000 tensors of a training run: about 8 MB), 17 GB at most.
namespace sluice::capture::live_blocks {

struct block {
  std::uint64_t address;
  std::uint64_t bytes;
  trace::layer layer;
  trace::memory_kind kind;
  std::uint32_t device;  ///< `ring::no_device` if the block belongs to no device.
};

/// Adds a block; replaces a block of the same layer that begins in the same 256 bytes. Reservations, physical memory
/// and arrays are stored, but `lookup` never finds them. Returns false if the block cannot be tracked, because its
/// address is above 2^47 or there is no memory. O(bytes / 2 MiB), plus at most 127 stores.
bool add(const block& b) noexcept;

/// Removes the block that begins at `address`; returns false if there is none. With `memory_kind::unknown`, the layers
/// `driver` and `pool` count as one.
bool remove(std::uint64_t address, trace::layer layer, trace::memory_kind kind) noexcept;

namespace detail {
extern std::atomic<std::uint64_t> lowest, highest;  ///< Range of all addresses that were ever in a block.
}
/// The addresses from `first` to `first + length`, both included.
struct address_range {
  std::uint64_t first;
  std::uint64_t length;
};
/// The range of all addresses that were ever in a block: `lookup` finds nothing outside this range. If there never was
/// a block, the range is one address that no block can have. Takes two loads.
[[nodiscard]] SLUICE_INLINE address_range range() noexcept {
  const std::uint64_t low = detail::lowest.load(std::memory_order_relaxed);
  const std::uint64_t high = detail::highest.load(std::memory_order_relaxed);
  return {low, high < low ? 0 : high - low};
}
/// A cheap test to make before `lookup`: returns false for most words that are not addresses.
[[nodiscard]] SLUICE_INLINE bool may_hold(std::uint64_t word) noexcept {
  const address_range whole = range();
  return word - whole.first <= whole.length;
}

/// Start address of the innermost live block that contains address `word`: a framework's block, else a pool's block,
/// else a driver's block. 0 if no live block contains `word`.
[[nodiscard]] std::uint64_t lookup(std::uint64_t word) noexcept;

/// Replaces each word by its `lookup` result. Faster than a loop of `lookup`, because the memory accesses overlap.
void lookup_each(std::uint64_t* words, std::size_t count) noexcept;

/// Prefetches the memory needed to add or remove a block at `address`.
void expect(std::uint64_t address, trace::layer layer) noexcept;

/// Calls `visit` for each live block, in no particular order. Blocks added or removed meanwhile may be missed.
/// O(address space in which blocks ever began); does not allocate.
void for_each(void (*visit)(void* context, const block& b), void* context) noexcept;

/// Removes all blocks. No other thread may use the table meanwhile.
void clear() noexcept;

/// The number of blocks that could not be tracked since the table was created.
[[nodiscard]] std::uint64_t untracked() noexcept;

}  // namespace sluice::capture::live_blocks
