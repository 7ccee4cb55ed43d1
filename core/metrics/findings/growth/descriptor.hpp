#pragma once

#include <array>

#include "core/metrics/findings/growth/growth.hpp"
#include "core/metrics/findings/growth/thresholds.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Registers the findings about memory that only grows, and memory that was never freed. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(warned_memory_share == 0.03 && growth_builder::min_blocks == 8 && grows_for == 0.4);

inline constexpr auto memory_grows_fixes = std::to_array<code_fix>({
    {"PyTorch",
     "losses.append(loss.item())  # a number: the tensor would keep its graph alive\n"
     "outputs.append(output.detach().cpu())  # keeps results in host memory"},
    {"CuPy", "results.append(cupy.asnumpy(result))  # keeps results in host memory"},
    {"JAX", "results.append(jax.device_get(result))  # keeps results in host memory"},
    {"Numba", "results.append(result.copy_to_host())  # keeps results in host memory"},
    {"CUDA C++", "cudaFree(block);  // at the end of the step that allocated it", "driver memory"},
});

inline constexpr auto growth_rules = std::to_array<finding_rule>({
    {finding_kind::memory_grows, "memory_grows", "Memory leak",
     "Memory from each step is kept, because of a leak or an unbounded list or cache.",
     "One of three conditions is met. First: at least 8 blocks from one line are live when the work ends, and hold at "
     "least 1 MiB and 3 % of the peak. Some of these blocks were allocated in each eighth of the kernels since the "
     "first of them, and these kernels are at least half of all kernels. If no kernels were recorded, the active time "
     "is divided instead. Second: the bytes in use at the start of a step rise in 80 % of at least 6 steps. Third: "
     "blocks are added during 40 % of the launches and copies, and these blocks are never used again, or none of them "
     "was freed before the peak.",
     "Growth of memory that the recorder does not see is not detected. The recording does not show whether the "
     "program needs the memory.",
     memory_grows_fixes},
    {finding_kind::unfreed_blocks, "unfreed_blocks", "Never freed", "Driver memory was never freed.",
     "Blocks are live when the recording ends. Blocks that an allocator keeps by design do not count.",
     "If the process is still running, it may free the blocks later."},
});

void find_growth(finder& in);
void find_unfreed(finder& in);
inline constexpr auto growth_steps = std::to_array<find_function>({find_growth, find_unfreed});

inline constexpr finding_descriptor growth_findings{"growth", "Memory that grows", growth_rules, growth_steps};

}  // namespace sluice::metrics
