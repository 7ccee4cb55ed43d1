#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/replay/policy.hpp"
#include "core/replay/requests.hpp"
#include "core/timeline/time_range.hpp"

/// Replays requests through models of allocators.
namespace sluice::replay {

/// What an allocator did for the requests. Sizes in bytes.
struct replay_figures {
  std::uint64_t peak_reserved = 0;
  std::uint64_t peak_allocated = 0;  ///< In blocks as the allocator rounds them.
  std::uint64_t segments = 0;        ///< The most at a time.
  std::uint64_t driver_calls = 0;    ///< Segments taken and given back, or ranges mapped and unmapped.
  std::uint64_t largest_hole = 0;    ///< The largest free block when `peak_reserved` was first reached.
  std::uint64_t retries = 0;         ///< Times that the cache was emptied because the limit was reached.
  std::uint64_t failures = 0;        ///< Allocations that would have failed: out of memory.
  /// Reserved when the recorded program's first allocation failed (`allocator_requests::failures`); 0: none did.
  std::uint64_t at_failure = 0;

  friend bool operator==(const replay_figures&, const replay_figures&) = default;
};

/// The figures under one policy.
struct policy_result {
  policy by;
  replay_figures sum;                   ///< Over all allocators; of `largest_hole` the largest.
  std::vector<replay_figures> figures;  ///< For each allocator, in the order of the requests.
};

/// How far the native model is from what was recorded under the native allocator.
struct native_error {
  std::int64_t peak_reserved = 0;  ///< Model less recording, in bytes.
  std::int64_t segments = 0;
  std::int64_t driver_calls = 0;
  [[nodiscard]] bool exact() const { return peak_reserved == 0 && segments == 0 && driver_calls == 0; }
};

/// What was reserved over time.
struct reserved_curve {
  analysis::time_range range;
  /// The most bytes reserved in each of so many equal parts of `range`.
  std::vector<std::uint64_t> highest;
};

/// Replays the requests of one allocator. Deterministic. O(requests * log live blocks), plus a node for each live block.
/// `curve`: its range and number of parts are given, and its bytes are filled in.
[[nodiscard]] replay_figures replay_policy(const allocator_requests& of, const policy& by,
                                           reserved_curve* curve = nullptr);

/// The most bytes that the native allocator reserves from one request on.
struct reserved_after {
  std::uint64_t as_recorded = 0;
  std::uint64_t emptied = 0;  ///< If the program empties the cache (torch.cuda.empty_cache) before that request.
};
/// `from`: the position of the request. O(requests * log live blocks).
[[nodiscard]] reserved_after empty_cache_before(const allocator_requests& of, std::size_t from);

/// Replays the requests of all allocators under each policy.
[[nodiscard]] std::vector<policy_result> replay_policies(std::span<const allocator_requests> of,
                                                         std::span<const policy> policies);

/// Compares figures of the native model with the recording (`recorded_allocator::with_blocks`); none if it has no
/// segments, or was made with mapped ones.
[[nodiscard]] std::optional<native_error> error_of(const allocator_requests& of, const replay_figures& native);

}  // namespace sluice::replay
