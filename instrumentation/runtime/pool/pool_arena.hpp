#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "instrumentation/runtime/pool/pool_heap.hpp"

// Pool memory allocated on streams that are being captured. Graph nodes contain its addresses, so it must
// not be reused elsewhere until the graph and everything created from it is destroyed. Internal.

namespace sluice::runtime::pooling {

class pool_core;

/// The blocks of one capture. The graph keeps `owner` alive; when `owner` is released,
/// the blocks return to the pool. Access the blocks only with the pool's mutex held.
struct capture_arena {
  /// Blocks freed within the capture, keyed by the freeing stream. That stream may reuse them in the capture, because
  /// its nodes run in order. Blocks freed outside the capture stay reserved until the graph is destroyed, then go to
  /// the freeing stream's zone.
  std::map<std::uint64_t, std::vector<block*>> free;
  std::vector<block*> all;
  std::weak_ptr<void> owner;

  [[nodiscard]] std::uint64_t free_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const block* b : all) bytes += b->state.load(std::memory_order_relaxed) == block_state::cached ? b->bytes : 0;
    return bytes;
  }
};

}  // namespace sluice::runtime::pooling
