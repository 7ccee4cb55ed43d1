#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

/// What an allocator of device memory would have reserved for recorded requests under another policy.
namespace sluice::replay {

/// Sizes of PyTorch's caching allocator, in bytes (c10/cuda/CUDACachingAllocator.cpp at commit 001074d2).
inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;
inline constexpr std::uint64_t smallest_block = 512;
inline constexpr std::uint64_t largest_small = mib;          ///< Larger requests come from the large pool.
inline constexpr std::uint64_t small_segment = 2 * mib;      ///< A segment of the small pool.
inline constexpr std::uint64_t large_segment = 20 * mib;     ///< A segment for requests below `own_segment_from`.
inline constexpr std::uint64_t own_segment_from = 10 * mib;  ///< From here on a segment holds one request at first.
inline constexpr std::uint64_t large_rounding = 2 * mib;     ///< Such a segment is a multiple of this.
inline constexpr std::uint64_t no_limit = ~std::uint64_t{0};

/// The settings that an allocator is replayed with.
struct policy {
  enum class model : std::uint8_t {
    caching,   ///< PyTorch's native allocator, with any of its settings.
    async,     ///< PyTorch's backend:cudaMallocAsync, i.e. the driver's pool.
    sluice,    ///< The pool of Sluice's own runtime.
    best_fit,  ///< One address space for all streams, the best fitting hole: a figure to compare with.
  };
  /// When the program calls torch.cuda.empty_cache() besides: not a setting of PyTorch, but a change of the program.
  enum class emptying : std::uint8_t {
    never,
    each_step,  ///< When a step begins: `allocator_requests::step_begins`.
    failure     ///< Before an allocation that failed: `allocator_requests::failures`.
  };
  std::string text;  ///< As it was asked for; names the policy in answers.
  model by = model::caching;
  bool expandable = false;
  std::uint64_t max_split = no_limit;                ///< Bytes; blocks from this size on are not split.
  std::uint64_t non_split_rounding = large_segment;  ///< Bytes that such a block may be larger than a request.
  double collect_above = 0;                          ///< Share of the limit; 0: no collection.
  double memory_fraction = 0;                        ///< Share of the device's memory; 0: as recorded.
  std::array<std::uint64_t, 16> divisions{};         ///< By power of two, from 1 MiB on; 0 or 1: no rounding.
  emptying empties = emptying::never;
};

/// Reads a setting written as in PYTORCH_CUDA_ALLOC_CONF ("expandable_segments:True,max_split_size_mb:128"), or
/// "native", "sluice", "best fit", "empty_cache:step" or "empty_cache:failure". Fails with invalid_argument and a line that says what was expected.
[[nodiscard]] result<policy> parse_policy(std::string_view text);

/// The policies that are replayed if none is asked for: settings of the allocator.
[[nodiscard]] std::vector<policy> default_policies();

}  // namespace sluice::replay
