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

inline constexpr std::uint64_t rounding = 512;  ///< In bytes. The sizes of PyTorch's blocks are multiples of this.
inline constexpr std::uint64_t small_segment = std::uint64_t{2} << 20;

/// Returns `bytes` (or 1 if it is 0) rounded up to a multiple of `to`.
[[nodiscard]] constexpr std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) {
  return (std::max<std::uint64_t>(bytes, 1) + to - 1) / to * to;
}

/// Gives a unique address to each block that has no address and for which `wanted` is true. The address is above all
/// other addresses, and so high that it is recognizable as invented. Returns the number of these blocks. O(n).
[[nodiscard]] std::size_t give_addresses(std::span<block> blocks, const std::function<bool(const block&)>& wanted);

/// A segment, or several adjacent segments that are treated as one.
struct segment_part {
  const block* held = nullptr;  ///< The first of these segments.
  std::uint64_t end = 0;
};
/// The owner of the memory (a device or the host), and an address.
using memory_place = std::pair<std::int64_t, std::uint64_t>;
using segment_places = std::map<memory_place, segment_part>;
using block_places = std::map<memory_place, const block*>;
using placed_block = std::pair<memory_place, const block*>;

/// Creates a segment for each live block that is outside of all segments, because a PyTorch snapshot can show a live
/// block only inside a segment. In recordings without segments, that is every live block.
class own_segments {
 public:
  /// For each block of `live` that is outside of `segments`, adds a segment to `segments` and the block to `inside`. If
  /// the block's address is taken, uses a free address. O(n log n).
  void add(std::span<const placed_block> live, segment_places& segments, block_places& inside);
  [[nodiscard]] std::size_t size() const { return made_.size(); }

 private:
  std::deque<block> made_;
};

}  // namespace sluice::exports::torch
