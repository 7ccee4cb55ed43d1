#pragma once

#include <array>

#include "core/metrics/findings/ranks/thresholds.hpp"
#include "core/metrics/findings/reserved/thresholds.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/report/waste/ranks.hpp"

/// Registers the findings about ranks that need more than the others, and what all ranks hold. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(warned_memory_share == 0.03 && warned_time_share == 0.02 && min_recurring == 4 &&
              min_reserved == 64.0 * 1024 * 1024 && imbalanced == 0.1 && awaited_host_share == 0.01 &&
              rank_metrics::late_host == 1'000'000);

inline constexpr auto replicated_state_fixes = std::to_array<code_fix>({
    {"PyTorch",
     "from torch.distributed.fsdp import fully_shard\n"
     "fully_shard(model)  # instead of DistributedDataParallel, and before the optimizer is created"},
});

inline constexpr auto ranks_rules = std::to_array<finding_rule>({
    {finding_kind::rank_imbalance, "rank_imbalance", "Uneven ranks",
     "One rank of a job needs more memory than the others, or makes them wait.",
     "One of three conditions is met. First: the rank's peak is 10 % above the median of the other ranks, or the "
     "memory that its allocator reserves at the peak is 10 % and 64 MiB above their median. Second: the other ranks "
     "wait for the rank in collectives, and wait longer than it does by 2 % of the active time if its kernels take "
     "longer, or else by 10 %, or by 1 % if half of the waits for it are at least 1 ms long, its GPU had no work "
     "before "
     "them, and the others make a fifth of the waits at most. The wait in a collective is the time beyond that of the "
     "rank that needs the least time, which is the rank that makes the wait. Waits of a length that occurs fewer than "
     "four times are left out, because connecting takes that long. Third: the rank's median step is 10 % longer. This "
     "is not compared if each rank has a collective in every step: such ranks wait for each other, so their steps take "
     "equally long. If they wait by turns, for 10 % of the active time, a note says which rank makes which wait. Ranks "
     "with less than a twentieth of the collectives of another rank are not compared, because they do not train with "
     "the others.",
     "Ranks on machines that were not recorded, and collectives of libraries other than NCCL, are not seen. NCCL does "
     "not report groups of ranks. Kernels of one name belong together if they run at the same time, on streams where "
     "such kernels repeatedly end together. Other kernels are not compared, and neither are groups that share a "
     "stream. Pipeline stages wait for each other by design, so a stage is named only if its kernels take longer. "
     "Steps of groups that never meet, such as replicas of a server, are not compared either."},
    {finding_kind::replicated_state, "replicated_state", "Every rank holds the same state",
     "Each rank holds all weights and all optimizer state.",
     "The finding is only a note. All ranks except at most one hold the same number of bytes and blocks of weights "
     "and optimizer state, line by line. Their collectives are all-reduces, with at most one all-gather or "
     "reduce-scatter in ten. Sharding would save 3 % of the peak.",
     "The contents of the blocks are unknown: with tensor parallelism, shards also have equal sizes. Sharding that "
     "gathers less often than once in ten all-reduces is not recognized. Needs kernel times (record --mode timeline).",
     replicated_state_fixes},
});

void find_rank_imbalance(finder& in);
void find_replicated_state(finder& in);
inline constexpr auto ranks_steps = std::to_array<find_function>({find_rank_imbalance, find_replicated_state});

inline constexpr finding_descriptor ranks_findings{"ranks", "Ranks of a job", ranks_rules, ranks_steps};

}  // namespace sluice::metrics
