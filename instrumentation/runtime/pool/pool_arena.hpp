#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "instrumentation/runtime/pool/pool_heap.hpp"

// The memory that a pool gives to streams being captured. Graph nodes contain its addresses, so
// it must not be reused elsewhere until the graph and everything made from it is gone. Internal.

namespace sluice::runtime::pooling {

class pool_core;

/// The blocks of one capture. The graph keeps `owner` alive; when it is released,
/// the blocks return to the pool. Access to the blocks needs the pool's mutex.
struct capture_arena {
  /// Blocks freed within the capture, by freeing stream. That stream may reuse them in the capture: its nodes run in
  /// order. Blocks freed outside stay until the graph is destroyed, then go to the zone of the stream that freed them.
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
