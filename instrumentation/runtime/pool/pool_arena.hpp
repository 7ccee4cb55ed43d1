#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "instrumentation/runtime/pool/pool_heap.hpp"

// What a pool gives to a stream that is being captured. The graph's nodes hold addresses: nobody else may have them until the
// graph and everything made of it are gone. Internal.

namespace sluice::runtime::pooling {

class pool_core;

/// The blocks of one capture. The graph holds the owner; when that goes, the blocks go back to the pool. The pool's mutex is
/// held wherever the blocks are looked at.
struct capture_arena {
  /// Free again, by the stream that freed them within the capture: the same stream may take them again there, for its nodes run
  /// one after the other. What was freed outside waits for the end, and for the zone of the stream that freed it.
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
