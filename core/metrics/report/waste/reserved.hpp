#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Memory that pools and caching allocators hold, and why. Sizes are in bytes.
namespace sluice::metrics {

/// The use of one pool with recorded blocks, or of a framework's caching allocator on one device. The range is divided
/// into parts with equal numbers of launches, copies, allocations and frees, so intervals without activity do not
/// count.
struct cache_use {
  trace::pool_id pool{};  ///< `none` for a framework's allocator, which gets its segments from the driver.
  trace::device_id device{};
  std::uint64_t reserved_maximum = 0;
  time_ns reserved_time = 0;  ///< When the maximum was first reached.
  std::uint64_t parts = 0;    ///< The number of parts: 16, or 0 if there is too little activity to judge.
  /// The number of consecutive parts, up to the last, in which the pool or allocator held at least half of
  /// `reserved_maximum` but at most half of `reserved_maximum` was in use.
  std::uint64_t low_parts = 0;
  std::uint64_t usual_maximum = 0;   ///< The highest number of bytes in use in the low parts.
  std::uint64_t usual_reserved = 0;  ///< The highest number of bytes held in the low parts.

  /// The share of parts that are low (`low_parts`); 0 if there are no parts.
  [[nodiscard]] double low_share() const {
    return parts == 0 ? 0 : static_cast<double>(low_parts) / static_cast<double>(parts);
  }
};

/// One forced growth.
struct forced_growth {
  trace::device_id device{};
  trace::process_id process{};
  trace::block_id segment{};  ///< The new segment.
  std::uint64_t segment_bytes = 0;
  time_ns time = 0;
  time_ns died = 0;         ///< When the segment was freed; `latest_time` if never.
  trace::stack_id stack{};  ///< The stack that made the request.
  std::uint64_t asked = 0;  ///< The requested size, rounded by the allocator.
  std::uint64_t free = 0;   ///< Free bytes in segments of the class that serves the request. These are the segments
                            ///< larger than 2 MiB.
  std::uint64_t largest_hole = 0;
  /// A large enough hole would have existed without some of the live blocks between holes. This is the number of blocks
  /// in the cheapest set of these blocks; 0 if no segment was large enough. `pinned_bytes` is the size of the blocks in
  /// that set.
  std::uint64_t pins = 0;
  std::uint64_t pinned_bytes = 0;
  trace::stack_id pin_stack{};  ///< The stack of the largest block in that set.
  trace::block_id largest_pin{};
};

/// The forced growths whose segments a device's allocator held when it held the most memory.
struct forced_growths {
  trace::device_id device{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Total size of the new segments.
  std::uint64_t reserved_maximum = 0;
  forced_growth largest;
};

/// The allocator's behaviour under one setting.
struct policy_outcome {
  std::string policy;  ///< As written in PYTORCH_CUDA_ALLOC_CONF.
  std::uint64_t peak_reserved = 0;
  std::uint64_t retries = 0;   ///< The number of times that the allocator emptied its cache because it had reached its
                               ///< limit.
  std::uint64_t failures = 0;  ///< Number of allocations that would have failed.
};

/// The replay of one device's allocator, whose native model reproduces the recording.
struct reserved_replay {
  trace::device_id device{};
  std::uint64_t peak_reserved = 0;
  std::uint64_t retries = 0;
  std::vector<policy_outcome> policies;  ///< Empty if all reserved memory was in use.
  /// `late_reserved` is the maximum reserved in the low parts at the end (`cache_use::low_parts`). `late_emptied` is
  /// what that maximum would be if the cache had been emptied at the start of the low parts. Both are 0 if there are no
  /// low parts.
  std::uint64_t late_reserved = 0;
  std::uint64_t late_emptied = 0;
};

}  // namespace sluice::metrics
