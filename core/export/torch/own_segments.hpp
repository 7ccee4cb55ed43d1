#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "core/export/torch/torch_entries.hpp"

namespace sluice::exports::torch {

inline constexpr std::uint64_t rounding = 512;  ///< In bytes; PyTorch's allocator gives out multiples of this.
inline constexpr std::uint64_t small_segment = std::uint64_t{2} << 20;

/// `bytes`, at least 1, rounded up to a multiple of `to`.
[[nodiscard]] constexpr std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) {
  return (std::max<std::uint64_t>(bytes, 1) + to - 1) / to * to;
}

/// Gives each of the `wanted` blocks that has no address one of its own, behind all others and so high that it is seen
/// to be invented. Returns how many there were. O(n).
[[nodiscard]] std::size_t give_addresses(std::span<block> blocks, const std::function<bool(const block&)>& wanted);

/// A segment, or several adjacent ones that make one segment together.
struct segment_part {
  const block* is = nullptr;  ///< The first of the segments.
  std::uint64_t end = 0;
};
/// The memory's owner (a device or the host) and the address.
using memory_place = std::pair<std::int64_t, std::uint64_t>;
using segment_places = std::map<memory_place, segment_part>;
using block_places = std::map<memory_place, const block*>;
using placed_block = std::pair<memory_place, const block*>;

/// Makes a segment for each live block that lies in none, as in recordings without segments: a PyTorch snapshot can
/// show a live block only inside a segment.
class own_segments {
 public:
  /// Adds a segment for each block of `live` that lies in none of `segments`; `inside` gets which block is in it. A
  /// block whose address is taken gets a free address. O(n log n).
  void add(std::span<const placed_block> live, segment_places& segments, block_places& inside);
  [[nodiscard]] std::size_t size() const { return made_.size(); }

 private:
  std::deque<block> made_;
};

}  // namespace sluice::exports::torch
