#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sluice::backend {

/// Books of a stream-ordered pool: which parts of its segments are free, and on which stream they were freed. Pure
/// arithmetic on addresses: it touches no memory and calls no device, so the runtime's pools and the simulated
/// driver's pool share it.
///
/// Best fit, split on allocation, coalesced on free. A free block carries the tag of the stream it was freed on; it
/// may be reused on that stream at once, and elsewhere only after the owner has made sure of the order and called
/// `retag`. Neighbours coalesce when their tags agree. Every operation is O(log blocks) but `retag`, which is
/// O(blocks of that tag). Not thread-safe: the owner locks.
class suballocator {
 public:
  /// Tag of free blocks with no pending work: anyone may take them.
  static constexpr std::uint64_t clean = ~std::uint64_t{0};

  struct segment {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };

  struct block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;      ///< rounded size
    std::uint64_t requested = 0;  ///< what was asked for, 0 while free
    std::uint64_t segment = 0;    ///< address of the segment that holds it
    std::uint64_t tag = clean;    ///< of a free block: the stream it was freed on
    bool free = true;
  };

  struct totals {
    std::uint64_t reserved_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t requested_bytes = 0;
    std::uint64_t largest_free_bytes = 0;
    std::uint64_t used_blocks = 0;
    std::uint64_t free_blocks = 0;
    std::uint64_t segments = 0;
  };

  /// `alignment` is a power of two, the granule of every block in bytes.
  explicit suballocator(std::uint64_t alignment = 512) : alignment_(alignment) {}

  [[nodiscard]] std::uint64_t round_up(std::uint64_t bytes) const noexcept;

  /// Adds a segment, free and clean. It must not overlap another.
  void add_segment(std::uint64_t address, std::uint64_t bytes);

  /// Takes the smallest free block that fits and is clean or tagged `tag`; nullopt if there is none.
  [[nodiscard]] std::optional<block> take(std::uint64_t bytes, std::uint64_t tag);

  /// Frees the block at `address`, tagged `tag`; nullopt if no allocated block starts there.
  std::optional<block> give(std::uint64_t address, std::uint64_t tag);

  /// Tags under which free blocks wait, `clean` excepted, in ascending order.
  [[nodiscard]] std::vector<std::uint64_t> tags() const;

  /// Free blocks of tag `from` get tag `to` and coalesce with their neighbours.
  void retag(std::uint64_t from, std::uint64_t to);

  /// Removes segments that are wholly free and clean, highest address first, while at least `keep_bytes` stay reserved.
  std::vector<segment> release(std::uint64_t keep_bytes);

  [[nodiscard]] totals stats() const noexcept;
  [[nodiscard]] const block* find(std::uint64_t address) const noexcept;
  /// Every block in address order, for tests and dumps.
  [[nodiscard]] const std::map<std::uint64_t, block>& blocks() const noexcept { return blocks_; }

 private:
  using free_set = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // (bytes, address)

  void insert_free(const block& b);
  void erase_free(const block& b);
  void coalesce(std::map<std::uint64_t, block>::iterator at);

  std::uint64_t alignment_;
  std::map<std::uint64_t, block> blocks_;
  std::map<std::uint64_t, std::uint64_t> segments_;  // address -> bytes
  std::map<std::uint64_t, free_set> free_;           // tag -> free blocks
  std::uint64_t reserved_ = 0, used_ = 0, requested_ = 0, used_blocks_ = 0;
};

}  // namespace sluice::backend
