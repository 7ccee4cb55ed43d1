#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sluice::generate {

inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// Assigns addresses to blocks like PyTorch's caching allocator. It takes the best fit in cached segments, and splits
/// and merges blocks. Small blocks use segments of 2 MiB; larger blocks use segments of 20 MiB or of their own size.
/// O(log blocks) per call.
class caching_allocator {
 public:
  struct segment {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  struct place {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;    ///< The requested size, rounded up.
    std::uint64_t segment = 0;  ///< The address of the block's segment.
    bool grew = false;          ///< True if `segment` was allocated for this call.
    std::uint64_t segment_bytes = 0;
  };

  /// The segments are placed one after another, starting at address `base`.
  explicit caching_allocator(std::uint64_t base) : next_segment_(base) {}

  place allocate(std::uint64_t bytes);
  void release(std::uint64_t address);
  /// Releases the segments without live blocks, and returns them.
  std::vector<segment> trim();

  [[nodiscard]] std::uint64_t allocated() const { return allocated_; }
  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }

 private:
  struct block {
    std::uint64_t bytes = 0;
    std::uint64_t segment = 0;
    bool free = false;
    bool small = false;
  };
  using free_set = std::set<std::pair<std::uint64_t, std::uint64_t>>;  ///< Pairs of (bytes, address).
  free_set& free_blocks(bool small) { return small ? free_small_ : free_large_; }
  void put_free(std::uint64_t address, block& b);

  /// The live and the free blocks, keyed by address. Together, they cover all segments.
  std::map<std::uint64_t, block> blocks_;
  std::map<std::uint64_t, std::uint64_t> segments_;
  free_set free_small_, free_large_;
  std::uint64_t next_segment_;
  std::uint64_t allocated_ = 0, reserved_ = 0;
};

}  // namespace sluice::generate
