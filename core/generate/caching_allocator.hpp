#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sluice::generate {

/// Gives out addresses as PyTorch's caching allocator does: best fit in segments that it keeps, split and joined again;
/// small blocks in segments of 2 MiB, larger ones in segments of 20 MiB or their own size. O(log blocks) a call.
class caching_allocator {
 public:
  struct segment {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  struct place {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;    ///< Rounded.
    std::uint64_t segment = 0;  ///< Its address.
    bool grew = false;          ///< `segment` is new.
    std::uint64_t segment_bytes = 0;
  };

  /// Segments lie one after another from `base` on.
  explicit caching_allocator(std::uint64_t base) : next_segment_(base) {}

  place allocate(std::uint64_t bytes);
  void release(std::uint64_t address);
  /// Gives back the segments that hold nothing.
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
  using free_set = std::set<std::pair<std::uint64_t, std::uint64_t>>;  ///< Bytes, address.
  free_set& free_blocks(bool small) { return small ? free_small_ : free_large_; }
  void put_free(std::uint64_t address, block& b);

  std::map<std::uint64_t, block> blocks_;  ///< By address; they tile the segments.
  std::map<std::uint64_t, std::uint64_t> segments_;
  free_set free_small_, free_large_;
  std::uint64_t next_segment_;
  std::uint64_t allocated_ = 0, reserved_ = 0;
};

}  // namespace sluice::generate
