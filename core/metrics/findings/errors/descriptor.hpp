#pragma once

#include <array>

#include "core/metrics/findings/shared/descriptor.hpp"

/// Registers the findings about failed allocations, allocations that succeeded on a retry, and lost events. Private to
/// core/metrics.
namespace sluice::metrics {

// The settings are those that replays try (core/metrics/findings/reserved/reserved_replays.cpp).
inline constexpr auto retried_allocations_fixes = std::to_array<code_fix>({
    {"PyTorch", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "expandable_segments:True"},
    {"PyTorch", "export PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4", "roundup_power2_divisions:4"},
    {"PyTorch", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", "max_split_size_mb:128"},
});

inline constexpr auto failed_allocations_fixes = std::to_array<code_fix>({
    {"PyTorch", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "expandable_segments:True"},
    {"PyTorch", "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)  # computes activations again",
     "recompute activations"},
});

inline constexpr auto errors_rules = std::to_array<finding_rule>({
    {finding_kind::failed_allocations, "failed_allocations", "Failed allocations",
     "The program requested memory and the request failed.",
     "An allocation failed, and the same request did not succeed right after the failure. The suggested changes were "
     "checked, either by removing the blocks from the memory layout at the failure or by replaying the requests "
     "through a model of PyTorch's allocator.",
     "Allocations of some libraries are not recorded. Most programs end at the failure, so the memory that they would "
     "have used later is unknown.",
     failed_allocations_fixes},
    {finding_kind::retried_allocations, "retried_allocations", "Allocations failed and were retried",
     "The GPU ran out of memory temporarily. The allocator freed its cache, which waits for the GPU, and retried.",
     "A driver allocation failed and succeeded on a retry. The time from the failure to the success is lost. A "
     "setting of PyTorch's allocator is advised only if a replay of the requests has fewer retries with this setting.",
     "When the blocks are allocated again later, the flush of the cache costs more time, which is not counted.",
     retried_allocations_fixes},
    {finding_kind::lost_events, "lost_events", "Lost events", "The recording is incomplete, so metrics can be wrong.",
     "The recorder, or the tool that made the file, reports the loss.", "It is unknown which events were lost."},
});

void find_failures(finder& in);
void find_retries(finder& in);
void find_losses(finder& in);
inline constexpr auto errors_steps = std::to_array<find_function>({find_failures, find_retries, find_losses});

inline constexpr finding_descriptor errors_findings{"errors", "Failures and losses", errors_rules, errors_steps};

}  // namespace sluice::metrics
