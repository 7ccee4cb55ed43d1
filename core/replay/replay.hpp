#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/replay/policy.hpp"
#include "core/replay/requests.hpp"

/// Replays recorded requests (requests.hpp) with a model of an allocator, under a policy (policy.hpp), and returns how
/// much memory the allocator would have reserved.
namespace sluice::replay {

/// How an allocator served the requests. Sizes are in bytes.
struct replay_metrics {
  std::uint64_t peak_reserved = 0;
  std::uint64_t peak_allocated = 0;  ///< The maximum total size of blocks, including the allocator's rounding.
  std::uint64_t segments = 0;        ///< The maximum number of segments at any time.
  std::uint64_t driver_calls = 0;    ///< The number of segments taken and released, or of ranges mapped and unmapped.
  std::uint64_t largest_hole = 0;    ///< The size of the largest free block when `peak_reserved` was first reached.
  std::uint64_t retries = 0;         ///< How often the cache was emptied because the limit was reached.
  std::uint64_t failures = 0;        ///< The number of allocations that would have failed because memory was exhausted.
  /// Reserved bytes when the first allocation of the recorded program failed (`allocator_requests::failures`); 0: no
  /// allocation failed.
  std::uint64_t at_failure = 0;

  friend bool operator==(const replay_metrics&, const replay_metrics&) = default;
};

/// The metrics of all allocators under one policy.
struct policy_result {
  policy by;
  replay_metrics sum;                   ///< The sum over all allocators; for `largest_hole`, the maximum.
  std::vector<replay_metrics> metrics;  ///< The metrics of each allocator, in the order of the requests.
};

/// The difference between the native model and the recording of the native allocator.
struct native_error {
  std::int64_t peak_reserved = 0;  ///< The value of the model minus the recorded value, in bytes.
  std::int64_t segments = 0;
  std::int64_t driver_calls = 0;
  [[nodiscard]] bool exact() const { return peak_reserved == 0 && segments == 0 && driver_calls == 0; }
};

/// Reserved bytes over time.
struct reserved_curve {
  time_range range;
  /// The maximum of the reserved bytes in each part of `range`, which is divided into as many equal parts as there are
  /// elements.
  std::vector<std::uint64_t> highest;
};

/// Replays the requests to one allocator. The result is deterministic. Takes O(requests * log live blocks) time, and
/// memory for a node per live block. `curve`: the caller sets its range and its number of parts, and the call fills in
/// the bytes.
[[nodiscard]] replay_metrics replay_policy(const allocator_requests& requests, const policy& by,
                                           reserved_curve* curve = nullptr);

/// The maximum that the native allocator reserves at or after a given request, in bytes.
struct reserved_after {
  std::uint64_t as_recorded = 0;
  std::uint64_t emptied = 0;  ///< The same maximum if the program empties the cache (torch.cuda.empty_cache) before
                              ///< that request.
};
/// Computes `reserved_after` for the request at position `begin`. O(requests * log live blocks).
[[nodiscard]] reserved_after empty_cache_before(const allocator_requests& requests, std::size_t begin);

/// Replays the requests to all allocators under each policy.
[[nodiscard]] std::vector<policy_result> replay_policies(std::span<const allocator_requests> items,
                                                         std::span<const policy> policies);

/// Compares the metrics of the native model with the recording (`recorded_allocator::with_blocks`). Returns nothing if
/// the recording has no segments, or if its segments were mapped.
[[nodiscard]] std::optional<native_error> to_error(const allocator_requests& requests, const replay_metrics& native);

}  // namespace sluice::replay
