#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "core/replay/allocator_rules.hpp"
#include "core/replay/replay.hpp"

namespace sluice::replay {

/// Models an allocator of device memory, but uses no device memory. A caller passes it requests to allocate and free
/// blocks, and reads how much memory the allocator would have reserved. An arena is a GPU stream or the pool of a CUDA
/// graph. The model works like PyTorch's allocator (c10/cuda/CUDACachingAllocator.cpp):
/// - Each arena and size class has a pool of free blocks. A request takes the smallest block that fits. If several
///   blocks have that size, it takes the block with the lowest address. The block is split if the rest is worth
///   keeping. A freed block is merged with its free neighbours.
/// - If no block fits, the model takes a segment or, if `mapped`, maps pages at the end of the pool's address space. At
///   the limit, it releases free segments and tries once more.
/// The mapped form also models the other allocators, with another page size and a single pool. Internal to core/replay.
class allocator_model {
 public:
  explicit allocator_model(const allocator_requests& requests, const allocator_rules& rules);

  /// Allocates a block. `address`: the address of the segment that was recorded for the block, or 0. Returns false if
  /// there is not enough memory. O(log blocks).
  bool allocate(std::uint32_t block, std::uint64_t bytes, std::uint16_t arena, std::uint64_t address);
  /// Frees a block; does nothing if it is not live. O(log blocks).
  void free(std::uint32_t block);
  /// Releases all free segments or pages, except those of the arenas in `kept`. O(free blocks).
  void empty_cache(std::span<const std::uint16_t> kept);

  [[nodiscard]] const replay_metrics& metrics() const { return metrics_; }
  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }
  [[nodiscard]] std::uint64_t allocated() const { return allocated_; }

  /// The location of a live block. Only for tests.
  struct place {
    std::uint32_t pool;
    std::uint64_t address;
    std::uint64_t bytes;
  };
  [[nodiscard]] place get_place(std::uint32_t block) const;

 private:
  using index = std::uint32_t;
  static constexpr index none = ~index{0};

  /// A range of a segment or of an address space.
  struct node {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    index before = none;  ///< Neighbours in the same segment, by address.
    index after = none;
    std::uint32_t pool = 0;
    bool used = false;
    bool mapped = true;
    std::uint64_t freed_at = 0;  ///< The value of `searches_` when the node became free. Used for garbage collection.

    [[nodiscard]] bool is_split() const { return before != none || after != none; }
  };
  struct by_size {
    std::uint64_t bytes;
    std::uint64_t address;
    index at;
    friend auto operator<=>(const by_size&, const by_size&) = default;
  };
  struct by_address {
    std::uint64_t address;
    index at;
    friend auto operator<=>(const by_address&, const by_address&) = default;
  };
  struct pool {
    std::set<by_size> free;
    std::set<by_address> unmapped;
    std::uint64_t mapped_bytes = 0;
    bool is_small = false;
    bool is_private = false;
  };

  [[nodiscard]] std::uint32_t pool_for(std::uint64_t bytes, std::uint16_t arena) const;
  [[nodiscard]] index find_free(std::uint32_t pool, std::uint64_t bytes);
  [[nodiscard]] index find_expandable(const struct pool& in, std::set<by_size>::iterator source) const;
  [[nodiscard]] bool fits_split_limit(std::uint64_t bytes, std::uint64_t block) const;
  [[nodiscard]] index take_new(std::uint32_t pool, std::uint64_t bytes, std::uint64_t address);
  [[nodiscard]] index after_retries(std::uint32_t pool, std::uint64_t bytes, std::uint64_t address);
  [[nodiscard]] bool should_split(const node& block, std::uint64_t bytes) const;
  void split(index at, std::uint64_t bytes);
  void collect_garbage();
  [[nodiscard]] bool release_oversize(std::uint32_t pool, std::uint64_t bytes);
  void release_segment(index at);
  void release_pool(std::uint32_t pool);
  void note_peak();
  [[nodiscard]] std::uint64_t hole() const;

  // Nodes.
  [[nodiscard]] index make(const node& output);
  void drop(index at);
  void put_free(index at);
  void take_free(index at) { pools_[nodes_[at].pool].free.erase({nodes_[at].bytes, nodes_[at].address, at}); }
  void join(index into, index neighbour);

  // Address spaces that grow by mapping pages (allocator_model_mapped.cpp).
  [[nodiscard]] index take_mapped(std::uint32_t pool, std::uint64_t bytes);
  [[nodiscard]] index find_space(std::uint32_t pool, std::uint64_t bytes);
  [[nodiscard]] bool map(index at, std::uint64_t bytes);
  void unmap(index at);
  [[nodiscard]] std::uint64_t find_page(const struct pool& in) const {
    return in.is_small ? rules_.small_page : rules_.large_page;
  }
  void change_mapped(struct pool& in, std::uint64_t bytes, bool more);

  allocator_rules rules_;
  std::vector<pool> pools_;
  std::vector<node> nodes_;
  std::vector<index> spare_;
  std::vector<index> node_of_;  ///< Indexed by block.
  std::uint64_t next_address_;
  std::uint64_t searches_ = 0;  ///< The number of searches in the common large pools so far.
  std::uint64_t reserved_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t segments_ = 0;
  replay_metrics metrics_;
};

}  // namespace sluice::replay
