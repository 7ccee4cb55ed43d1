#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/trace/model/model.hpp"
#include "instrumentation/writer/blocks/recent_frees.hpp"

namespace sluice::writer {

/// A block that was freed.
struct freed_block {
  std::uint64_t address = 0;
  trace::block_id block{};
  std::uint64_t bytes = 0;
  trace::time_ns allocated = 0;
  trace::time_ns freed = 0;

  [[nodiscard]] bool contains(std::uint64_t inside) const { return inside - address < bytes; }
};

/// The blocks of one process that were freed last, because records of device work that used them may come later. Not
/// thread-safe.
class freed_blocks {
 public:
  /// Adds a block that was freed at `freed`. Ignores reservations and physical memory: device work never refers to
  /// their addresses. O(1).
  void add(const trace::alloc_event& block, trace::time_ns freed) {
    if (block.kind == trace::memory_kind::reservation || block.kind == trace::memory_kind::physical) return;
    const std::uint64_t bytes = std::max<std::uint64_t>({block.bytes, block.reserved_bytes, 1});
    blocks_.put(block.address, {block.address, block.block, bytes, block.time, freed});
    latest_ = std::max(latest_, freed);
  }

  /// The block that began at `address`; null if there is none. For the cost of look-ups, see `recent_frees`.
  [[nodiscard]] const freed_block* find(std::uint64_t address) const { return blocks_.find(address); }
  /// The block that contained `address`; null if there is none.
  [[nodiscard]] const freed_block* containing(std::uint64_t address) const {
    const freed_block* const block = blocks_.at_or_below(address);
    return block != nullptr && block->contains(address) ? block : nullptr;
  }
  /// The block that contained `address` at `time`; null if there is none. O(1) for times after the latest free.
  [[nodiscard]] const freed_block* containing_at(std::uint64_t address, trace::time_ns time) const {
    if (time >= latest_) return nullptr;
    const freed_block* const block = containing(address);
    return block != nullptr && block->allocated <= time && time < block->freed ? block : nullptr;
  }

  /// Removes all blocks and frees the memory.
  void clear() { blocks_.clear(); }

 private:
  recent_frees<freed_block> blocks_{std::size_t{1} << 12};
  trace::time_ns latest_ = INT64_MIN;  ///< The latest time of a free.
};

}  // namespace sluice::writer
