#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

/// A policy: the allocator, and its settings, with which recorded requests are replayed. The replay shows how much
/// device memory that allocator would have reserved (replay.hpp).
namespace sluice::replay {

/// The sizes that PyTorch's caching allocator uses, in bytes (c10/cuda/CUDACachingAllocator.cpp at commit 001074d2).
inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;
inline constexpr std::uint64_t smallest_block = 512;
inline constexpr std::uint64_t largest_small = mib;          ///< A larger request is served from the large pool.
inline constexpr std::uint64_t small_segment = 2 * mib;      ///< The size of a segment of the small pool.
inline constexpr std::uint64_t large_segment = 20 * mib;     ///< The size of a segment for large requests below
                                                             ///< `own_segment_from`.
inline constexpr std::uint64_t own_segment_from = 10 * mib;  ///< A request of at least this size gets a segment of its
                                                             ///< own, if it needs a new segment.
inline constexpr std::uint64_t large_rounding = 2 * mib;     ///< The size of such a segment is a multiple of this.
inline constexpr std::uint64_t no_limit = ~std::uint64_t{0};

/// The settings with which an allocator is replayed.
struct policy {
  enum class model : std::uint8_t {
    caching,   ///< PyTorch's native allocator, with any of its settings.
    async,     ///< PyTorch's backend:cudaMallocAsync, that is, the driver's pool.
    sluice,    ///< The pool of Sluice's own runtime.
    best_fit,  ///< One address space for all streams, in which each request takes the best-fitting hole. An ideal
               ///< allocator, for comparison.
  };
  /// When the program additionally calls torch.cuda.empty_cache(). This is a change of the program, not a setting of
  /// PyTorch.
  enum class emptying : std::uint8_t {
    never,
    each_step,  ///< At the start of each step, see `allocator_requests::step_begins`.
    failure     ///< Before each allocation that failed, see `allocator_requests::failures`.
  };
  std::string text;  ///< The policy as the user wrote it. This text also names the policy in results.
  model by = model::caching;
  bool expandable = false;
  std::uint64_t max_split = no_limit;                ///< Blocks of at least this size, in bytes, are not split.
  std::uint64_t non_split_rounding = large_segment;  ///< How much larger than a request a block that is not split may
                                                     ///< be, in bytes.
  double collect_above = 0;                          ///< The share of the limit above which garbage is collected; 0:
                                                     ///< never.
  double memory_fraction = 0;                        ///< The share of the device's memory that may be used; 0: the
                                                     ///< recorded limit.
  std::array<std::uint64_t, 16> divisions{};         ///< For each power of two, from 1 MiB on, the number of equal
                                                     ///< steps up to the next power of two; 0 or 1: no rounding.
  emptying empties = emptying::never;
};

/// Parses a setting, either as in PYTORCH_CUDA_ALLOC_CONF ("expandable_segments:True,max_split_size_mb:128"), or one of
/// "native", "sluice", "best fit", "empty_cache:step" and "empty_cache:failure". Errors: invalid_argument, with a line
/// that describes the expected form.
[[nodiscard]] result<policy> parse_policy(std::string_view text);

/// Returns the settings of the allocator that are replayed by default.
[[nodiscard]] std::vector<policy> default_policies();

}  // namespace sluice::replay
