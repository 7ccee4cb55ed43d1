#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "instrumentation/runtime/pool/pool_index.hpp"

// The bookkeeping of a pool: which parts of its segments are free, and which stream may take them immediately.
// `pool_heap` only computes with addresses: it does not touch device memory and makes no driver calls. This header is
// internal.
//
// The structure is TLSF (Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator for real-time systems",
// 2004). It has free lists by size, eight per power of two, and a bitmap of non-empty lists, so that finding a block
// and splitting it is O(1). Each stream has its own set of lists, called its zone.

namespace sluice::runtime::pooling {

/// Every block begins at a multiple of this and has a size that is a multiple of it, in bytes.
inline constexpr std::uint64_t granule = 512;
/// log2 of the number of size classes per power of two.
inline constexpr unsigned step_bits = 3;
inline constexpr std::size_t size_classes = 312;  ///< up to 2^47 bytes

/// The class of a size in granules: one class per size below 16, then eight classes per power of two. O(1).
[[nodiscard]] constexpr std::size_t get_size_class(std::uint64_t granules) noexcept {
  // Setting this bit makes small sizes work without a special case.
  const unsigned top = 63u - static_cast<unsigned>(__builtin_clzll(granules | (1u << step_bits)));
  const unsigned shift = top - step_bits;
  return (static_cast<std::size_t>(shift) << step_bits) + static_cast<std::size_t>(granules >> shift);
}

/// The smallest size in granules that starts a class and is at least `granules`. So every block of that class has at
/// least `granules`.
[[nodiscard]] constexpr std::uint64_t round_to_class(std::uint64_t granules) noexcept {
  if (granules < (1u << step_bits)) return granules;
  const unsigned top = 63u - static_cast<unsigned>(__builtin_clzll(granules));
  const std::uint64_t step = std::uint64_t{1} << (top - step_bits);
  return (granules + step - 1) & ~(step - 1);
}

/// `get_size_class(round_to_class(granules))` for granules >= 1: the lowest class in which every block holds that many
/// granules. This is the class after `get_size_class(granules - 1)`.
[[nodiscard]] constexpr std::size_t class_that_holds(std::uint64_t granules) noexcept {
  return get_size_class(granules - 1) + 1;
}

/// The number of a zone that belongs to no stream.
inline constexpr std::uint64_t no_stream = ~std::uint64_t{0};

struct block;
struct zone;

enum class block_state : std::uint8_t {
  free,    ///< in the heap, in a list of its zone
  cached,  ///< not in the heap, but free: kept by a thread's front or a graph's arena
  used,    ///< allocated
  held,    ///< allocated, and part of a captured graph: it has an arena
};

/// A range of a segment. The heap owns its blocks and frees them only with itself, so a stale
/// pointer to a block can still be read. A hit in a front touches only the first cache line.
struct alignas(64) block {
  std::atomic<std::uint64_t> address{0};
  std::uint64_t bytes = 0;          ///< a multiple of the granule
  std::uint64_t requested = 0;      ///< size that the caller requested, while allocated
  block* next = nullptr;            ///< next block in its current list
  std::uint64_t trace_address = 0;  ///< the address used in recordings
  std::uint64_t parent = 0;         ///< address of its segment in recordings; 0: the writer finds it by address
  /// The arena of the graph that holds the block. Set under the pool's mutex; may become null during a caller's free.
  std::atomic<void*> arena{nullptr};
  std::uint32_t recorded = 0;  ///< number of the recording that contains this block
  std::uint16_t bin = 0;       ///< get_size_class its size in granules
  std::atomic<block_state> state{block_state::free};

  // Used only by the heap.
  block* previous = nullptr;  ///< previous block in its free list
  block* before = nullptr;    ///< neighbors by address, in continuous memory
  block* after = nullptr;
  zone* home = nullptr;       ///< for a free block, its zone; for a block held by a graph, its later zone
  std::int64_t freed_at = 0;  ///< time on a simulated device's clock; 0 on other devices
  block* next_spare = nullptr;

  [[nodiscard]] void* pointer() const noexcept {
    return reinterpret_cast<void*>(address.load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool is_callers() const noexcept { return state.load(std::memory_order_relaxed) >= block_state::used; }
};

/// The free blocks that one stream may take immediately, in lists by size. The heap's first zone has the blocks that
/// every stream may take.
struct zone {
  std::uint64_t stream = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t held = 0;  ///< number of blocks that graphs hold and that will return to this zone
  std::array<std::uint64_t, (size_classes + 63) / 64> filled{};  ///< one bit per list: not empty
  std::array<block*, size_classes> lists{};
};

/// A piece of memory, either from upstream or mapped.
struct segment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t trace_address = 0;
  /// True if the segment can be joined with adjacent continuous segments: blocks may extend over
  /// several of them. The segment can still be freed while its neighbors are in use.
  bool continuous = false;
};

/// The blocks and free lists of a pool. Not thread-safe except for `find`: the owner must lock.
class pool_heap {
 public:
  pool_heap() { zones_.push_back(std::make_unique<zone>()); }
  pool_heap(const pool_heap&) = delete;
  pool_heap& operator=(const pool_heap&) = delete;

  /// Rounds `bytes` up to a block size, at least one granule. On overflow, returns the largest multiple of the granule.
  [[nodiscard]] static constexpr std::uint64_t round_up(std::uint64_t bytes) noexcept {
    const std::uint64_t rounded = (bytes + granule - 1) & ~(granule - 1);
    if (rounded < bytes) return ~std::uint64_t{0} & ~(granule - 1);
    return rounded == 0 ? granule : rounded;
  }

  /// Adds memory that is free for every stream, or in the zone `home`. Address and size must
  /// be multiples of the granule, and it must not overlap other segments. O(log segments).
  void add(const segment& s) { add(s, clean()); }
  void add(const segment& s, zone& home);

  /// The zone of a stream. Created if it does not exist. O(log zones).
  [[nodiscard]] zone& find_zone(std::uint64_t stream);
  /// The number of free bytes in a stream's zone; 0 if it has no zone. O(log zones).
  [[nodiscard]] std::uint64_t get_bytes(std::uint64_t stream) const noexcept {
    const auto at = zone_by_stream_.find(stream);
    return at == zone_by_stream_.end() ? 0 : at->second->bytes;
  }
  /// The zone of blocks that every stream may take.
  [[nodiscard]] zone& clean() noexcept { return *zones_.front(); }
  /// Zones of streams that have free blocks, or will get some from graphs, in order of their creation.
  [[nodiscard]] std::vector<zone*> busy_zones() const;
  /// Deletes the stream's zone if it is empty. No reference to it may remain.
  void forget_zone(std::uint64_t stream) noexcept;

  /// Takes a block of exactly `bytes` (a multiple of the granule) from `source` or from the clean zone, whichever
  /// fits better. The rest is split off and stays in that zone. Null if no list is sure to have a fitting block. O(1).
  [[nodiscard]] block* take(std::uint64_t bytes, zone& source);
  /// Takes a block like `take`, but also searches a list whose blocks may be too small. Null if no block fits. O(list
  /// length).
  [[nodiscard]] block* take_any(std::uint64_t bytes, zone& source);
  /// Frees a block into the zone `to`, and merges it with free neighbors of the same zone. O(1).
  void give(block* b, zone& to) noexcept;
  /// Moves all free blocks of `source` to `to`. O(blocks of `source`).
  void retag(zone& source, zone& to) noexcept;

  /// The block that begins at `address`, in any state, or null. Any thread may call
  /// this without a lock; a null result must then be confirmed with the owner's lock held. O(1).
  [[nodiscard]] block* find(std::uint64_t address) const noexcept { return index_.find(address); }
  /// Finds a block as `find` does, but with a single probe of the hash table. If null, call `find`.
  [[nodiscard]] block* find_at_once(std::uint64_t address) const noexcept { return index_.find_at_once(address); }

  /// The free block, in the clean zone or in `subject`, that ends at `address`, where
  /// a run of continuous segments ends, or null. O(log segments).
  [[nodiscard]] const block* free_before(std::uint64_t address, const zone& subject) const noexcept;

  /// Removes segments that are completely free in the clean zone, highest address
  /// first, but keeps at least `keep_bytes`. Returns them. O(free blocks + segments).
  [[nodiscard]] std::vector<segment> release(std::uint64_t keep_bytes);

  [[nodiscard]] std::uint64_t reserved() const noexcept { return reserved_; }
  /// Bytes and blocks outside the heap: allocated, or kept in fronts or arenas.
  [[nodiscard]] std::uint64_t taken_bytes() const noexcept { return taken_bytes_; }
  [[nodiscard]] std::uint64_t taken_blocks() const noexcept { return taken_blocks_; }
  [[nodiscard]] std::uint64_t free_blocks() const noexcept;
  [[nodiscard]] std::size_t segments() const noexcept { return segments_.size(); }
  /// The size of the largest free block, in bytes. O(zones + blocks of the largest class).
  [[nodiscard]] std::uint64_t largest_free() const noexcept;

  /// Calls visit(block&) for each block, in any state, in address order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::uint64_t seen_to = 0;
    for (const auto& [address, s] : segments_) {
      if (s.continuous && address < seen_to) continue;  // already visited with its run
      for (block* b = find(address); b != nullptr && b->bytes != 0; b = b->after) {
        visit(*b);
        seen_to = b->address.load(std::memory_order_relaxed) + b->bytes;
      }
    }
  }

 private:
  void make_room();
  [[nodiscard]] block* make_block() noexcept;
  void drop_block(block* b) noexcept;

  static void link(block* b, zone& to) noexcept;
  static void unlink(block* b) noexcept;
  [[nodiscard]] static block* first_fit(const zone& in, std::uint64_t bytes) noexcept;
  [[nodiscard]] static block* any_fit(const zone& in, std::uint64_t bytes) noexcept;
  [[nodiscard]] block* split(block* b, std::uint64_t bytes);
  [[nodiscard]] block* join(block* b) noexcept;
  void put(block* b, zone& to) noexcept;
  void cut(block* b, const segment& s);
  void end_run(std::uint64_t address, block* last);
  void drop_run_end(std::uint64_t address) noexcept;
  [[nodiscard]] block* holding(std::uint64_t address) const noexcept;

  std::vector<std::unique_ptr<zone>> zones_;  // the first one is the clean zone
  std::map<std::uint64_t, zone*> zone_by_stream_;
  std::map<std::uint64_t, segment> segments_;
  std::map<std::uint64_t, block*> run_ends_;
  std::uint64_t reserved_ = 0, taken_bytes_ = 0, taken_blocks_ = 0;
  std::vector<std::unique_ptr<block[]>> slabs_;
  block* spare_ = nullptr;
  std::size_t spares_ = 0;
  block_index<block> index_;
};

}  // namespace sluice::runtime::pooling
