#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "instrumentation/runtime/pool/pool_index.hpp"

// The books of a pool: which parts of its segments are free, and which stream may take them at once. Pure arithmetic on
// addresses: it touches no memory of the device's and calls none. Internal.
//
// The structure is that of TLSF (Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator for real-time
// systems", 2004): free blocks lie in lists by size, eight to a power of two, and a bitmap says which lists have any, so
// that a fit is found, and its rest put away, in O(1). What a stream has freed lies in lists of its own, its zone.

namespace sluice::runtime::pooling {

/// Every block is a multiple of this, in bytes, and begins at one.
inline constexpr std::uint64_t granule = 512;
/// Steps of size within a power of two.
inline constexpr unsigned step_bits = 3;
inline constexpr std::size_t size_classes = 312;  ///< up to 2^47 bytes

/// The class of a size in granules: exact below 16 granules, then eight to a power of two. O(1).
[[nodiscard]] constexpr std::size_t class_of(std::uint64_t granules) noexcept {
  // With that bit the small ones need no case of their own.
  const unsigned top = 63u - static_cast<unsigned>(__builtin_clzll(granules | (1u << step_bits)));
  const unsigned shift = top - step_bits;
  return (static_cast<std::size_t>(shift) << step_bits) + static_cast<std::size_t>(granules >> shift);
}

/// The size in granules at or above this one that begins a class: every block of that class holds it.
[[nodiscard]] constexpr std::uint64_t round_to_class(std::uint64_t granules) noexcept {
  if (granules < (1u << step_bits)) return granules;
  const unsigned top = 63u - static_cast<unsigned>(__builtin_clzll(granules));
  const std::uint64_t step = std::uint64_t{1} << (top - step_bits);
  return (granules + step - 1) & ~(step - 1);
}

/// `class_of(round_to_class(granules))`, of 1 and more: the lowest class of which every block holds so many. It is the one behind that
/// of the next smaller size.
[[nodiscard]] constexpr std::size_t class_that_holds(std::uint64_t granules) noexcept {
  return class_of(granules - 1) + 1;
}

struct block;
struct zone;

enum class block_state : std::uint8_t {
  free,    ///< in the heap, in its zone's lists
  cached,  ///< out of the heap, waiting in a thread's front
  used,    ///< a caller's
  held,    ///< a caller's, and a captured graph's: it has an arena
};

/// A stretch of a segment. The heap makes and keeps these: an address that was good once stays good to look at until the
/// heap goes. A cache line's worth is all that a hit in a front touches.
struct alignas(64) block {
  std::atomic<std::uint64_t> address{0};
  std::uint64_t bytes = 0;          ///< a multiple of the granule
  std::uint64_t requested = 0;      ///< what the caller asked for, while used
  block* next = nullptr;            ///< in the list that it is in
  std::uint64_t trace_address = 0;  ///< its name in recordings
  std::uint64_t parent = 0;         ///< its segment's; 0: found by address
  /// The captured graph's that holds it. Changes with the pool's mutex held; to null while a caller may be freeing the block.
  std::atomic<void*> arena{nullptr};
  std::uint32_t recorded = 0;  ///< the recording that knows it, by number
  std::uint16_t bin = 0;       ///< class_of its size
  std::atomic<block_state> state{block_state::free};

  // The heap's own.
  block* previous = nullptr;  ///< in its free list
  block* before = nullptr;    ///< neighbours by address, where memory is continuous
  block* after = nullptr;
  zone* home = nullptr;       ///< whose list it is in, while free; where it goes, while a graph holds it for that
  std::int64_t freed_at = 0;  ///< on a simulated device's clock; 0 on others
  block* next_spare = nullptr;

  [[nodiscard]] void* pointer() const noexcept {
    return reinterpret_cast<void*>(address.load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool is_callers() const noexcept { return state.load(std::memory_order_relaxed) >= block_state::used; }
};

/// The free blocks that one stream may take at once, or, of the heap's first zone, that anybody may.
struct zone {
  std::uint64_t stream = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t held = 0;  ///< blocks that graphs hold, which come here when those go
  std::array<std::uint64_t, (size_classes + 63) / 64> filled{};  ///< a bit for each list that has any
  std::array<block*, size_classes> lists{};
};

/// A piece of memory from upstream, or mapped.
struct segment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t trace_address = 0;
  /// Beside others of the kind it is one memory with them: blocks may reach across. Such a segment can go although its
  /// neighbours are in use.
  bool continuous = false;
};

/// Not thread-safe but for `find`: the owner locks.
class pool_heap {
 public:
  pool_heap() { zones_.push_back(std::make_unique<zone>()); }
  pool_heap(const pool_heap&) = delete;
  pool_heap& operator=(const pool_heap&) = delete;

  /// `bytes` as a block would have them, at least a granule; the largest multiple there is where that overflows.
  [[nodiscard]] static constexpr std::uint64_t round_up(std::uint64_t bytes) noexcept {
    const std::uint64_t rounded = (bytes + granule - 1) & ~(granule - 1);
    if (rounded < bytes) return ~std::uint64_t{0} & ~(granule - 1);
    return rounded == 0 ? granule : rounded;
  }

  /// Adds memory, free for anybody, or for those of `home` to take. Its address and size are multiples of the granule; it
  /// overlaps no other. O(log segments).
  void add(const segment& s) { add(s, clean()); }
  void add(const segment& s, zone& home);

  /// The zone of a stream, made when there is none. O(log zones).
  [[nodiscard]] zone& zone_of(std::uint64_t stream);
  /// What is free in a stream's zone; 0: it has none. O(log zones).
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t stream) const noexcept {
    const auto at = zone_by_stream_.find(stream);
    return at == zone_by_stream_.end() ? 0 : at->second->bytes;
  }
  /// What anybody may take.
  [[nodiscard]] zone& clean() noexcept { return *zones_.front(); }
  /// Zones of streams that have free blocks, or will when graphs go, in the order in which they were made.
  [[nodiscard]] std::vector<zone*> busy_zones() const;
  /// The zone is empty, and nobody refers to it any more.
  void forget_zone(std::uint64_t stream) noexcept;

  /// A block of exactly `bytes` (a multiple of the granule) from `from` or from what anybody may take, the smaller fit of
  /// the two; its rest stays. Null if no list holds one that surely fits. O(1).
  [[nodiscard]] block* take(std::uint64_t bytes, zone& from);
  /// The same, looking through the list of blocks that may or may not fit: null only if there is none. O(that list).
  [[nodiscard]] block* take_any(std::uint64_t bytes, zone& from);
  /// A block that was taken is free again in `to`. It joins with free neighbours of the same zone. O(1).
  void give(block* b, zone& to) noexcept;
  /// Every free block of `from` moves to `to`. O(blocks of `from`).
  void retag(zone& from, zone& to) noexcept;

  /// The block that begins at `address`, of whatever state; null: none. Any thread may ask, without a lock; then null means only
  /// that it should be asked again with the owner's lock. O(1).
  [[nodiscard]] block* find(std::uint64_t address) const noexcept { return index_.find(address); }
  /// The same where the first look finds it; null: ask `find`.
  [[nodiscard]] block* find_at_once(std::uint64_t address) const noexcept { return index_.find_at_once(address); }

  /// The free block of anybody's or of `of` that ends at `address`, where a continuous segment does; null: there is none.
  /// O(log segments).
  [[nodiscard]] const block* free_before(std::uint64_t address, const zone& of) const noexcept;

  /// Takes segments out that are free for anybody, the highest address first, while at least `keep_bytes` stay.
  /// O(free blocks + segments).
  [[nodiscard]] std::vector<segment> release(std::uint64_t keep_bytes);

  [[nodiscard]] std::uint64_t reserved() const noexcept { return reserved_; }
  /// Bytes and blocks that are not free here: callers' and fronts'.
  [[nodiscard]] std::uint64_t taken_bytes() const noexcept { return taken_bytes_; }
  [[nodiscard]] std::uint64_t taken_blocks() const noexcept { return taken_blocks_; }
  [[nodiscard]] std::uint64_t free_blocks() const noexcept;
  [[nodiscard]] std::size_t segments() const noexcept { return segments_.size(); }
  /// O(zones + blocks of the largest class).
  [[nodiscard]] std::uint64_t largest_free() const noexcept;

  /// Calls visit(block&) for each block in address order, of whatever state.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::uint64_t seen_to = 0;
    for (const auto& [address, s] : segments_) {
      if (s.continuous && address < seen_to) continue;  // with the run that it belongs to
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

  std::vector<std::unique_ptr<zone>> zones_;  // the first is anybody's
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
