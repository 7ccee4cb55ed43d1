#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sluice::backend {

/// The bookkeeping of a stream-ordered pool: which parts of its segments are free, and on which stream each part was
/// freed. This class only computes with addresses. It accesses no memory and calls no device.
///
/// Allocates by best fit; splits blocks on allocation and coalesces them on free. A free block's tag is the stream on
/// which it was freed. That stream may reuse the block immediately. Other streams may reuse it only after the owner of
/// this object has ensured the order and called `retag`. Adjacent free blocks coalesce if their tags are equal. Every
/// operation is O(log blocks), except `retag`, which is O(blocks of that tag). The class is not thread-safe: the owner
/// locks.
class suballocator {
 public:
  /// Tag of free blocks without pending work, which any stream may take.
  static constexpr std::uint64_t clean = ~std::uint64_t{0};

  struct segment {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };

  struct block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;      ///< rounded size
    std::uint64_t requested = 0;  ///< the requested size; 0 while free
    std::uint64_t segment = 0;    ///< address of the segment that contains the block
    std::uint64_t tag = clean;    ///< for a free block: the stream on which it was freed
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

  /// `alignment` is a power of two; block sizes are multiples of it (in bytes).
  explicit suballocator(std::uint64_t alignment = 512) : alignment_(alignment) {}

  [[nodiscard]] std::uint64_t round_up(std::uint64_t bytes) const noexcept;

  /// Adds a segment, as one free block tagged `clean`. It must not overlap another segment.
  void add_segment(std::uint64_t address, std::uint64_t bytes);

  /// Allocates from the smallest sufficient free block that is tagged `clean` or `tag`; nullopt if there is none.
  [[nodiscard]] std::optional<block> take(std::uint64_t bytes, std::uint64_t tag);

  /// Frees the block at `address` and tags it with `tag`; nullopt if no allocated block starts there.
  std::optional<block> give(std::uint64_t address, std::uint64_t tag);

  /// The tags of all free blocks except `clean`, in ascending order.
  [[nodiscard]] std::vector<std::uint64_t> tags() const;

  /// Changes the tag of all free blocks tagged `begin` to `to`, and coalesces them with their neighbors.
  void retag(std::uint64_t begin, std::uint64_t to);

  /// Removes segments that are entirely free and clean, highest address first, as long as at least `keep_bytes` stay
  /// reserved.
  std::vector<segment> release(std::uint64_t keep_bytes);

  [[nodiscard]] totals stats() const noexcept;
  [[nodiscard]] const block* find(std::uint64_t address) const noexcept;
  /// All blocks in address order, for tests and dumps.
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
