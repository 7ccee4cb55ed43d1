#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "instrumentation/runtime/pool/pool_heap.hpp"

// Pool memory allocated on streams that are being captured. Graph nodes contain the addresses of this memory, so the
// memory must not be reused elsewhere until the graph and everything created from it is destroyed. This header is
// internal.

namespace sluice::runtime::pooling {

/// The blocks of one capture. The graph keeps `owner` alive; when `owner` is released,
/// the blocks return to the pool. Access the blocks only with the pool's mutex held.
struct capture_arena {
  /// Blocks freed within the capture, keyed by the freeing stream. That stream may reuse them in the capture, because
  /// its nodes run in order. Blocks freed outside the capture stay reserved until the graph is destroyed, then go to
  /// the freeing stream's zone.
  std::map<std::uint64_t, std::vector<block*>> free;
  std::vector<block*> blocks;
  std::weak_ptr<void> owner;

  [[nodiscard]] std::uint64_t free_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const block* b : blocks)
      bytes += b->state.load(std::memory_order_relaxed) == block_state::cached ? b->bytes : 0;
    return bytes;
  }
};

/// Makes a freed block of a graph go to zone `to` when the graph is destroyed.
void hold_for(block& b, zone& to) noexcept;

/// The arenas of a pool, by the ids of their captures. The pool's mutex must be held.
class capture_arenas {
 public:
  /// The capture's arena, or null.
  [[nodiscard]] capture_arena* find(std::uint64_t capture) const noexcept;
  /// Adds the arena of a capture that has none.
  capture_arena& add(std::uint64_t capture);
  void erase(std::uint64_t capture) noexcept { arenas_.erase(capture); }
  [[nodiscard]] bool empty() const noexcept { return arenas_.empty(); }

  /// Bytes of blocks that were freed and that graphs keep. O(blocks of all graphs).
  [[nodiscard]] std::uint64_t free_bytes() const noexcept;
  /// Makes all held blocks that would go to zone `old` go to zone `to`. O(blocks of all graphs); O(1) if no held block
  /// goes to `old`.
  void rehome(zone& old, zone& to) noexcept;

 private:
  std::map<std::uint64_t, std::unique_ptr<capture_arena>> arenas_;
};

}  // namespace sluice::runtime::pooling
