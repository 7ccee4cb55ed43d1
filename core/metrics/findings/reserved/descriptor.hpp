#pragma once

#include <array>

#include "core/metrics/findings/reserved/reserved_replays.hpp"
#include "core/metrics/findings/reserved/thresholds.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Registers the findings about memory that allocators, pools and other processes hold. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(warned_memory_share == 0.03 && min_driver_calls == 8 && min_reserved == 64.0 * 1024 * 1024 &&
              unused_at_last == 0.4 && fragmented == 0.5 && much_free == 0.2 && replay_error == 0.1 &&
              reserved_replays_builder::max_blocks == 200'000);

inline constexpr auto cached_unused_fixes = std::to_array<code_fix>({
    {"PyTorch", "torch.cuda.empty_cache()  # once, after the peak"},
    {"CuPy", "cupy.get_default_memory_pool().free_all_blocks()  # once, after the peak"},
    {"CUDA C++", "cudaMemPoolTrimTo(pool, 0);  // once, after the peak", "driver pool"},
});

inline constexpr auto fragmentation_fixes = std::to_array<code_fix>({
    {"PyTorch", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "expandable_segments:True"},
    {"PyTorch", "export PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4", "roundup_power2_divisions:4"},
    {"PyTorch", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", "max_split_size_mb:128"},
});

inline constexpr auto driver_allocations_fixes = std::to_array<code_fix>({
    {"CUDA C++",
     "uint64_t keep = UINT64_MAX;  // before the loop: the pool keeps freed memory\n"
     "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);  // of cudaDeviceGetDefaultMemPool\n"
     "cudaMallocAsync(&block, bytes, stream);  // and cudaFreeAsync(block, stream)"},
});

inline constexpr auto reserved_rules = std::to_array<finding_rule>({
    {finding_kind::cached_unused, "cached_unused", "Reserved memory that nothing uses",
     "A pool or caching allocator holds far more than the program uses most of the time.",
     "The pool or allocator holds at least 64 MiB, and at most half of that is in use during the last 40 % of the "
     "program's launches, copies, allocations and frees. For PyTorch's native allocator, a replay (within 10 %) "
     "computes how much emptying the cache saves. If that is less than 3 %, the finding is a note.",
     "The recording does not show whether other code needs the memory. Recordings of more than 200,000 blocks are not "
     "replayed.",
     cached_unused_fixes},
    {finding_kind::fragmentation, "fragmentation", "Fragmented memory",
     "The free memory of an allocator is in pieces that are too small.",
     "At the peak, at least 64 MiB and 20 % of the allocator's memory are free, and the largest hole is less than "
     "half of the free memory. The requests to PyTorch's native allocator are replayed under "
     "expandable_segments:True, roundup_power2_divisions:4 and max_split_size_mb:128. If none of these settings "
     "reserves 3 % less, given the model's error of 10 %, the finding is a note. Another note reports segments that "
     "PyTorch allocated from the driver although enough memory was free, because all holes were too small. These "
     "segments must be part of the peak of reserved memory, and at least 64 MiB and 3 % of that peak.",
     "Fragmentation at other moments is not detected. Recordings of more than 200,000 blocks, and recordings that the "
     "native model does not reproduce, are not replayed. The saving is then all free memory.",
     fragmentation_fixes},
    {finding_kind::untracked_memory, "untracked_memory", "Memory outside of what was recorded",
     "A large part of the GPU's memory belongs to nothing that was recorded.",
     "At least 1 GiB of the memory that the driver reports as in use was not recorded.",
     "The owner of the memory is unknown."},
    {finding_kind::driver_allocations, "driver_allocations", "Driver allocations in a loop",
     "The program allocates and frees driver memory repeatedly. Each call is slow, and frees wait for the GPU.",
     "The program made at least 8 allocations and 8 frees of blocks from one line, and they are spread over a quarter "
     "of the active time.",
     "Calls inside libraries are attributed to the line that called the library.", driver_allocations_fixes},
});

void find_cached_unused(finder& in);
void find_fragmentation(finder& in);
void find_untracked(finder& in);
void find_driver_allocations(finder& in);
inline constexpr auto reserved_steps =
    std::to_array<find_function>({find_cached_unused, find_fragmentation, find_untracked, find_driver_allocations});

inline constexpr finding_descriptor reserved_findings{"reserved", "Reserved memory", reserved_rules, reserved_steps};

}  // namespace sluice::metrics
