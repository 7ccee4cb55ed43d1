#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "core/export/torch/torch_entries.hpp"

namespace sluice::exports::torch {

inline constexpr std::uint64_t rounding = 512;  ///< PyTorch's allocator gives out multiples of it.
inline constexpr std::uint64_t small_segment = std::uint64_t{2} << 20;

/// A segment, or what several of them make together.
struct segment_part {
  const block* is = nullptr;  ///< The first.
  std::uint64_t end = 0;
};
/// By the memory's owner and the address.
using memory_place = std::pair<std::int64_t, std::uint64_t>;
using segment_places = std::map<memory_place, segment_part>;
using block_places = std::map<memory_place, const block*>;
using placed_block = std::pair<memory_place, const block*>;

/// Live blocks that lie in no segment, as in recordings that know none, get one of their own: no other place of a snapshot says that they
/// are there.
class own_segments {
 public:
  /// Adds a segment for each of `live` that lies in none of `segments`, and says in `inside` what is in it. A block without an address, or
  /// one whose address is taken, gets one that is free. O(n log n).
  void add(std::span<const placed_block> live, segment_places& segments, block_places& inside);
  [[nodiscard]] std::size_t size() const { return made_.size(); }

 private:
  std::deque<block> made_;
};

}  // namespace sluice::exports::torch
