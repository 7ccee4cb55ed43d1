#pragma once

#include <cstdint>

#include "core/replay/policy.hpp"
#include "core/replay/requests.hpp"

namespace sluice::replay {

/// The rules by which a model allocates. Every model is an `allocator_model` with its own rules.
struct allocator_rules {
  policy by;
  bool mapped = false;                       ///< True if address spaces grow page by page. If false, memory consists of
                                             ///< segments of fixed size.
  bool two_classes = true;                   ///< True if small and large requests use separate memory.
  bool arenas = true;                        ///< True if a GPU stream cannot use the free blocks of another stream.
  std::uint64_t small_page = small_segment;  ///< Granularity of mapping for small requests, in bytes.
  std::uint64_t large_page = large_segment;
  std::uint64_t min_growth = 0;    ///< The minimum that is mapped at once, in bytes.
  std::uint64_t limit = no_limit;  ///< The maximum that may be reserved, in bytes.
  bool limit_set = false;          ///< True if the program itself set the limit. Garbage collection requires this.
  /// As in PyTorch, the limit is compared with the size of a segment for the request, even if less memory is mapped.
  bool limit_by_segment = true;
};

/// Returns the rules for the policy `by` and for the allocator that received the requests.
[[nodiscard]] allocator_rules rules_for(const policy& by, const allocator_requests& requests);

/// Returns the size of the block for a request of `bytes`, after the allocator's rounding, in bytes. O(1).
[[nodiscard]] std::uint64_t block_size(const policy& by, std::uint64_t bytes);

/// Returns the size of the segment that PyTorch's allocator takes for a block of size `block`, in bytes. O(1).
[[nodiscard]] constexpr std::uint64_t segment_size(std::uint64_t block) {
  if (block <= largest_small) return small_segment;
  if (block < own_segment_from) return large_segment;
  return (block + large_rounding - 1) / large_rounding * large_rounding;
}

}  // namespace sluice::replay
