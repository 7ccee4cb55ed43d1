#pragma once

#include <atomic>
#include <cstdint>

#include "core/trace/model/kinds.hpp"

/// The blocks of every layer that are live in this process, by address: what the words in a kernel's parameters are looked
/// up in, and what is sent when the writer has lost track.
///
/// A page table over the 47 bits of address that there are: a node of 8 GiB, a region of 2 MiB, and in it, for each layer, a
/// bitmap of where blocks begin (one bit for 256 bytes) and which block reaches into each 16 KiB from before. A layer's
/// blocks do not overlap, so the block that holds a word is the last that begins at or before it: found in the word's own
/// 64 bits of the bitmap, or named by the 16 KiB or the region around it. Five to eight loads, no loop over blocks.
///
/// Thread-safety: all functions may be called from any thread at any time, without locks: they see each block whole or not at
/// all. What overlaps must be removed before it is added anew, as the driver's and the allocators' own order has it (a free
/// is told at its entry, an allocation at its exit); else words may not be found, and nothing worse. A fork's child
/// begins with an empty table. Memory: 4 KiB for each 128 KiB of address space in which a block ever began (16 KiB blocks or
/// smaller in all of 80 GB: 2.5 GB; a training's 2,000 tensors: some 8 MB), 17 GB at most.
namespace sluice::capture::live_blocks {

struct block {
  std::uint64_t address;
  std::uint64_t bytes;
  trace::layer layer;
  trace::memory_kind kind;
  std::uint32_t device;  ///< `collector::no_device` if of none.
};

/// A block is born. One at the same address and of the same layer gives way to it. Reservations, physical memory and arrays
/// are kept, but never found by a word. False if it cannot be tracked: an address past 2^47, or no memory.
/// O(bytes / 2 MiB) and at most 127 stores more.
bool add(const block& b) noexcept;

/// It dies. `memory_kind::unknown` stands for whatever the layer's call may free there. False if none is there.
bool remove(std::uint64_t address, trace::layer layer, trace::memory_kind kind) noexcept;

namespace detail {
extern std::atomic<std::uint64_t> lowest, highest;  ///< Of all addresses that were ever in a block.
}
/// False for most words that are no address: what to ask before `lookup`. Two loads.
[[nodiscard]] inline bool may_hold(std::uint64_t word) noexcept {
  return word >= detail::lowest.load(std::memory_order_relaxed) &&
         word <= detail::highest.load(std::memory_order_relaxed);
}

/// Where the innermost live block that holds `word` begins: the framework's within a segment, else the pool's, else the
/// driver's; 0 if the word is no address in a live block.
[[nodiscard]] std::uint64_t lookup(std::uint64_t word) noexcept;

/// `lookup` of each of `words`, which become what is found. Sooner than one by one: they are fetched side by side.
void lookup_each(std::uint64_t* words, std::size_t count) noexcept;

/// A block at `address` is about to be added or removed: asks for the memory where it is noted, and does not wait for it.
void expect(std::uint64_t address, trace::layer layer) noexcept;

/// Calls `visit` for each live block, in no order. Blocks that come or go meanwhile may be told or not. O(address space in
/// which blocks ever began); allocates nothing.
void for_each(void (*visit)(void* context, const block& b), void* context) noexcept;

/// Forgets all. While nobody else uses this.
void clear() noexcept;

/// Blocks that could not be tracked, ever.
[[nodiscard]] std::uint64_t untracked() noexcept;

}  // namespace sluice::capture::live_blocks
