#pragma once

#include <array>
#include <string_view>

#include "core/metrics/findings/idle_memory/idle_memory.hpp"
#include "core/metrics/findings/idle_memory/thresholds.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Registers the findings about memory that raises the peak while nothing needs it. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(warned_memory_share == 0.03 && idle_for_long == 0.5 && warned_loop_share == 0.1 &&
              warned_variable_share == 0.25 && idle_memory_builder::idle_works == 8 &&
              idle_memory_builder::worth_moving == 4);

inline constexpr std::string_view uses_seen =
    "A kernel uses a block if the block's address is among its arguments. Addresses that a kernel loads from memory "
    "are not seen. Blocks in the pools of CuPy and JAX are not recorded, only the driver memory of the pools. To "
    "record these blocks, call sluice.watch_cupy() in CuPy programs, or set XLA_PYTHON_CLIENT_ALLOCATOR=platform for "
    "JAX.";

inline constexpr auto held_late_fixes = std::to_array<code_fix>({
    {"PyTorch", "del x  # right after its last use"},
    {"CuPy", "del x  # right after its last use"},
    {"Numba", "del x  # right after its last use"},
    {"JAX", "del x  # right after its last use"},
    {"CUDA C++", "cudaFree(block);  // right after its last use", "driver memory"},
});

// CPUOffloadOptimizer: torchao's documentation of torchao.optim.
inline constexpr auto idle_block_fixes = std::to_array<code_fix>({
    {"PyTorch",
     "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)  # computes them again\n"
     "# or move them: with torch.autograd.graph.save_on_cpu(pin_memory=True): loss = model(x)",
     "activations"},
    {"PyTorch",
     "from torchao.optim import CPUOffloadOptimizer\n"
     "optimizer = CPUOffloadOptimizer(model.parameters(), torch.optim.AdamW)  # your optimizer's class",
     "optimizer state"},
});

inline constexpr auto gradients_kept_fixes = std::to_array<code_fix>({
    {"PyTorch", "optimizer.zero_grad(set_to_none=True)  # before the forward pass"},
});

inline constexpr auto idle_memory_rules = std::to_array<finding_rule>({
    {finding_kind::never_used, "never_used", "Memory that nothing uses", "Memory was allocated and never used.",
     "No kernel or copy uses the block between its allocation and its free, while at least 8 others run, and the peak "
     "is 3 % lower without the block.",
     uses_seen},
    {finding_kind::allocated_early, "allocated_early", "Allocated too early",
     "Memory is allocated long before its first use, and raises the peak in between.",
     "At least 8 other launches or copies run between the allocation and the first use, and the peak is 3 % lower if "
     "the block is allocated at its first use. Clears and copies from the host do not count as a use.",
     uses_seen},
    {finding_kind::held_late, "held_late", "Kept after last use",
     "Memory is kept after its last use, and raises the peak in between.",
     "At least 8 other launches or copies run after the last use, and the peak is 3 % lower if the block is freed "
     "right after its last use. If a loop recreates such blocks in each iteration, the finding is only a note below "
     "10 % of the peak. For the old value of a variable that is kept while the new value is computed, it is only a "
     "note below 25 %.",
     uses_seen, held_late_fixes},
    {finding_kind::idle_block, "idle_block", "Memory idle between two uses",
     "Memory at the peak is used before and after, but not for a long time in between.",
     "The time between two uses is at least 4 times as long as moving the block to the host and back, and the peak is "
     "3 % lower without the block. The finding is only a note if less than half of the launches and copies run in the "
     "idle time.",
     "Idle times that span a section of a large recording are not detected, and uses by CUDA graphs are not seen.",
     idle_block_fixes},
    {finding_kind::reusable_block, "reusable_block", "Blocks that could be reused",
     "Two blocks of the same size are live together but never used at the same time.",
     "The last use of one block is before the first use of the other, both have 1 MiB or more, and the peak is 3 % "
     "lower if the second reuses the first. This saves more than freeing or allocating at the right time.",
     uses_seen},
    {finding_kind::gradients_kept, "gradients_kept", "Gradients kept after the step",
     "Gradients stay allocated through the forward pass, where the peak is.",
     "At the peak, gradients have been cleared in place and are kept until the backward pass. Otherwise, the finding "
     "is a note: gradients stay allocated over two steps and are 5 % of the peak.",
     "The recording does not show whether gradients accumulate over several steps on purpose.", gradients_kept_fixes},
});

void find_idle_memory(finder& in);
inline constexpr auto idle_memory_steps = std::to_array<find_function>({find_idle_memory});

inline constexpr finding_descriptor idle_memory_findings{"idle_memory", "Memory that nothing needs at the peak",
                                                         idle_memory_rules, idle_memory_steps};

}  // namespace sluice::metrics
