#pragma once

#include <cstdint>

#include "core/replay/policy.hpp"
#include "core/replay/requests.hpp"

namespace sluice::replay {

/// How a model allocates. All models are the same machine (`allocator_model`) under other rules.
struct allocator_rules {
  policy by;
  bool mapped = false;                       ///< Address spaces that grow page by page; else segments of fixed size.
  bool two_classes = true;                   ///< Small and large requests have memory of their own.
  bool arenas = true;                        ///< Streams of the GPU cannot use each other's free blocks.
  std::uint64_t small_page = small_segment;  ///< Bytes that are mapped at a time.
  std::uint64_t large_page = large_segment;
  std::uint64_t least_growth = 0;  ///< The least to map, in bytes.
  std::uint64_t limit = no_limit;  ///< Bytes that may be reserved.
  bool limit_set = false;          ///< By the program, as for garbage collection.
  /// PyTorch compares the limit with the size of a segment for the request, even if it maps less.
  bool limit_by_segment = true;
};

/// The rules for `by` and the allocator that made the requests.
[[nodiscard]] allocator_rules rules_for(const policy& by, const allocator_requests& of);

/// The size of the block for a request, in bytes, as the allocator rounds it. O(1).
[[nodiscard]] std::uint64_t block_size(const policy& by, std::uint64_t bytes);

/// The size of a new segment for a block of PyTorch's allocator, in bytes. O(1).
[[nodiscard]] constexpr std::uint64_t segment_size(std::uint64_t block) {
  if (block <= largest_small) return small_segment;
  if (block < own_segment_from) return large_segment;
  return (block + large_rounding - 1) / large_rounding * large_rounding;
}

}  // namespace sluice::replay
