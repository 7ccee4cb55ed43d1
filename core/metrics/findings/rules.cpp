#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/metrics/base/link_share.hpp"
#include "core/metrics/findings/finding_rules.hpp"
#include "core/metrics/findings/growth/growth.hpp"
#include "core/metrics/findings/idle_memory/idle_memory.hpp"
#include "core/metrics/findings/reserved/reserved_replays.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/idle/idle_gaps.hpp"

namespace sluice::metrics {
namespace {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(warned_memory_share == 0.03 && warned_time_share == 0.02 && max_warnings == 5);
static_assert(reported_idle_share == 0.005 && min_recurring == 4 && min_small_copies == 256 && min_driver_calls == 8 &&
              min_spread == 4);
static_assert(min_reserved == 64.0 * 1024 * 1024 && unused_at_last == 0.4 && fragmented == 0.5 && much_free == 0.2);
static_assert(replay_error == 0.1 && reserved_replays_builder::max_blocks == 200'000);
static_assert(imbalanced == 0.1 && awaited_host_share == 0.01 && rank_metrics::late_host == 1'000'000);
static_assert(reached_of_link_peak == 0.85 && growth_builder::min_blocks == 8);
static_assert(reported_products_share == 0.05 && metrics::fp32_products::tf32_length == 0.27);
static_assert(idle_for_long == 0.5 && grows_for == 0.4 && warned_loop_share == 0.1 && warned_variable_share == 0.25);
static_assert(idle_memory_builder::idle_works == 8 && idle_memory_builder::worth_moving == 4);
static_assert(gap_splitter::short_host == 20'000 && gap_splitter::longest_launch == 100'000);

constexpr std::string_view uses_seen =
    "A kernel uses a block if the block's address is among its arguments. Addresses that a kernel loads from memory "
    "are not seen. Blocks in the pools of CuPy and JAX are not recorded, only the driver memory of the pools. To "
    "record these blocks, call sluice.watch_cupy() in CuPy programs, or set XLA_PYTHON_CLIENT_ALLOCATOR=platform for "
    "JAX.";
constexpr std::string_view gaps_seen =
    "Needs kernel times (record --mode timeline). The finding names the line of the call. For host code, it names the "
    "next line that allocates or copies. Times of host and GPU agree to about 1 us.";

constexpr auto rules = std::to_array<finding_rule>({
    {finding_kind::gpu_fault, "gpu_fault", "A GPU error ended all work of the process, for example an illegal address.",
     "A call returned such an error. The finding names the kernels that were enqueued before the call and possibly "
     "unfinished.",
     "The finding does not show which of these kernels caused the error. compute-sanitizer reports the access."},
    {finding_kind::failed_allocations, "failed_allocations", "The program requested memory and the request failed.",
     "An allocation failed, and the same request did not succeed right after the failure. The suggested changes were "
     "checked, either by removing the blocks from the memory layout at the failure or by replaying the requests "
     "through a model of PyTorch's allocator.",
     "Allocations of some libraries are not recorded. Most programs end at the failure, so the memory that they would "
     "have used later is unknown."},
    {finding_kind::retried_allocations, "retried_allocations",
     "The GPU ran out of memory temporarily. The allocator freed its cache, which waits for the GPU, and retried.",
     "A driver allocation failed and succeeded on a retry. The time from the failure to the success is lost. A "
     "setting of PyTorch's allocator is advised only if a replay of the requests has fewer retries with this setting.",
     "When the blocks are allocated again later, the flush of the cache costs more time, which is not counted."},
    {finding_kind::lost_events, "lost_events", "The recording is incomplete, so metrics can be wrong.",
     "The recorder, or the tool that made the file, reports the loss.", "It is unknown which events were lost."},
    {finding_kind::memory_grows, "memory_grows",
     "Memory from each step is kept, because of a leak or an unbounded list or cache.",
     "One of three conditions is met. First: at least 8 blocks from one line are live when the work ends, and hold at "
     "least 1 MiB and 3 % of the peak. Some of these blocks were allocated in each eighth of the kernels since the "
     "first of them, and these kernels are at least half of all kernels. If no kernels were recorded, the active time "
     "is divided instead. Second: the bytes in use at the start of a step rise in 80 % of at least 6 steps. Third: "
     "blocks are added during 40 % of the launches and copies, and these blocks are never used again, or none of them "
     "was freed before the peak.",
     "Growth of memory that the recorder does not see is not detected. The recording does not show whether the "
     "program needs the memory."},
    {finding_kind::unfreed_blocks, "unfreed_blocks", "Driver memory was never freed.",
     "Blocks are live when the recording ends. Blocks that an allocator keeps by design do not count.",
     "If the process is still running, it may free the blocks later."},
    {finding_kind::never_used, "never_used", "Memory was allocated and never used.",
     "No kernel or copy uses the block between its allocation and its free, while at least 8 others run, and the peak "
     "is 3 % lower without the block.",
     uses_seen},
    {finding_kind::allocated_early, "allocated_early",
     "Memory is allocated long before its first use, and raises the peak in between.",
     "At least 8 other launches or copies run between the allocation and the first use, and the peak is 3 % lower if "
     "the block is allocated at its first use. Clears and copies from the host do not count as a use.",
     uses_seen},
    {finding_kind::held_late, "held_late", "Memory is kept after its last use, and raises the peak in between.",
     "At least 8 other launches or copies run after the last use, and the peak is 3 % lower if the block is freed "
     "right after its last use. If a loop recreates such blocks in each iteration, the finding is only a note below "
     "10 % of the peak. For the old value of a variable that is kept while the new value is computed, it is only a "
     "note below 25 %.",
     uses_seen},
    {finding_kind::idle_block, "idle_block",
     "Memory at the peak is used before and after, but not for a long time in between.",
     "The time between two uses is at least 4 times as long as moving the block to the host and back, and the peak is "
     "3 % lower without the block. The finding is only a note if less than half of the launches and copies run in the "
     "idle time.",
     "Idle times that span a section of a large recording are not detected, and uses by CUDA graphs are not seen."},
    {finding_kind::reusable_block, "reusable_block",
     "Two blocks of the same size are live together but never used at the same time.",
     "The last use of one block is before the first use of the other, both have 1 MiB or more, and the peak is 3 % "
     "lower if the second reuses the first. This saves more than freeing or allocating at the right time.",
     uses_seen},
    {finding_kind::dead_write, "dead_write",
     "Memory is cleared or uploaded, and then fully overwritten before anything reads it.",
     "A memset, a fill kernel or a copy writes the whole block, and the next access is a copy or memset that writes "
     "the whole block again. The blocks have at least 16 MiB in total.",
     "Kernels that overwrite a block are not reported, because the recording does not show whether they read the "
     "block first."},
    {finding_kind::gradients_kept, "gradients_kept",
     "Gradients stay allocated through the forward pass, where the peak is.",
     "At the peak, gradients have been cleared in place and are kept until the backward pass. Otherwise, the finding "
     "is a note: gradients stay allocated over two steps and are 5 % of the peak.",
     "The recording does not show whether gradients accumulate over several steps on purpose."},
    {finding_kind::cached_unused, "cached_unused",
     "A pool or caching allocator holds far more than the program uses most of the time.",
     "The pool or allocator holds at least 64 MiB, and at most half of that is in use during the last 40 % of the "
     "program's launches, copies, allocations and frees. For PyTorch's native allocator, a replay (within 10 %) "
     "computes how much emptying the cache saves. If that is less than 3 %, the finding is a note.",
     "The recording does not show whether other code needs the memory. Recordings of more than 200,000 blocks are not "
     "replayed."},
    {finding_kind::fragmentation, "fragmentation", "The free memory of an allocator is in pieces that are too small.",
     "At the peak, at least 64 MiB and 20 % of the allocator's memory are free, and the largest hole is less than "
     "half of the free memory. The requests to PyTorch's native allocator are replayed under "
     "expandable_segments:True, roundup_power2_divisions:4 and max_split_size_mb:128. If none of these settings "
     "reserves 3 % less, given the model's error of 10 %, the finding is a note. Another note reports segments that "
     "PyTorch allocated from the driver although enough memory was free, because all holes were too small. These "
     "segments must be part of the peak of reserved memory, and at least 64 MiB and 3 % of that peak.",
     "Fragmentation at other moments is not detected. Recordings of more than 200,000 blocks, and recordings that the "
     "native model does not reproduce, are not replayed. The saving is then all free memory."},
    {finding_kind::driver_allocations, "driver_allocations",
     "The program allocates and frees driver memory repeatedly. Each call is slow, and frees wait for the GPU.",
     "The program made at least 8 allocations and 8 frees of blocks from one line, and they are spread over a quarter "
     "of the active time.",
     "Calls inside libraries are attributed to the line that called the library."},
    {finding_kind::activations_dominate, "activations_dominate", "Activations are at least half of the peak.",
     "The categories at the peak show this. The activations have at least 64 MiB.",
     "Categories are inferred, unless the program names them."},
    {finding_kind::optimizer_state_dominates, "optimizer_state_dominates",
     "Optimizer state is at least 40 % of the peak.",
     "The categories at the peak show this. The optimizer state has at least 64 MiB.",
     "Categories are inferred, unless the program names them."},
    {finding_kind::untracked_memory, "untracked_memory",
     "A large part of the GPU's memory belongs to nothing that was recorded.",
     "At least 1 GiB of the memory that the driver reports as in use was not recorded.",
     "The owner of the memory is unknown."},
    {finding_kind::held_in_two_types, "held_in_two_types",
     "The same values are held in two data types, for example fp32 weights and an fp16 copy.",
     "The finding is only a note. The first use of a block is a kernel with only two blocks as arguments: this block "
     "and a block of twice or half the size. If a category is known, four times or a quarter of the size also counts. "
     "Both blocks are live at the peak and for half of the time from then on, and the smaller blocks are 3 % of the "
     "peak. Gradients, activations and inputs do not count.",
     "The recording does not show what the kernel does, so it may compute a block from another block of twice the "
     "size. Copies into an existing block, and copies by kernels with more arguments, are not detected."},
    {finding_kind::rank_imbalance, "rank_imbalance",
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
    {finding_kind::replicated_state, "replicated_state", "Each rank holds all weights and all optimizer state.",
     "The finding is only a note. All ranks except at most one hold the same number of bytes and blocks of weights "
     "and optimizer state, line by line. Their collectives are all-reduces, with at most one all-gather or "
     "reduce-scatter in ten. Sharding would save 3 % of the peak.",
     "The contents of the blocks are unknown: with tensor parallelism, shards also have equal sizes. Sharding that "
     "gathers less often than once in ten all-reduces is not recognized. Needs kernel times (record --mode timeline)."},
    {finding_kind::pageable_copies, "pageable_copies",
     "Copies from or to pageable memory are slow, because the driver stages them.",
     "The copies are at least 16 MiB and 10 % of the bytes of a direction, and slower than 75 % of the link. Pinning "
     "saves the time beyond that at 85 % of the link's peak. The finding is only a note if the copies do not recur, "
     "that is, if they occur in fewer than 4 of 8 equal parts of the kernels' time.",
     "The cost of pinning is not counted."},
    {finding_kind::slow_copies, "slow_copies", "Large copies from pinned memory stay far below the link's peak.",
     "The copies are at least 64 MiB, 1 MiB on average, and slower than 60 % of the link.",
     "Other users of the link are not seen."},
    {finding_kind::small_copies, "small_copies",
     "Many copies are small. Starting such a copy takes longer than moving its data.",
     "One line requests at least 256 copies below 64 KiB. The saving is the time of these copies minus the time of "
     "one copy of all bytes.",
     "The recording does not show whether the data can be gathered into one copy."},
    {finding_kind::repeated_copies, "repeated_copies", "The same data is copied to the GPU repeatedly.",
     "Copies have the same contents (record --find-duplicates). They are at least 1 MiB or 256 copies, without round "
     "trips and uploads of zeros. Contents are compared by a hash. The hash covers all bytes of copies of up to 32 "
     "KiB, and a sample of larger copies.",
     "Copies in graphs and batches, and copies that the recorder skipped to save time, are not compared."},
    {finding_kind::round_trips, "round_trips", "Data is copied to the host and back to the GPU unchanged.",
     "A copy to the GPU has the contents of a copy from the GPU that followed the last such upload (record "
     "--find-duplicates). Each copy has at least 64 bytes, and there are at least 1 MiB or 256 copies. The saving is "
     "the time of both copies.",
     "The recording does not show whether the host also reads the data. If it does, only the copy back can be "
     "removed. Copies to page-locked memory whose completion the program learns from a host function or another "
     "stream, and changes by the device between the two copies, are not detected."},
    {finding_kind::zero_uploads, "zero_uploads", "Zeros are copied to the GPU, where a memset would be enough.",
     "The contents of copies are all zero (record --find-duplicates), and there are at least 1 MiB or 256 copies. Up "
     "to 4 MiB of a copy are read. If there is no time for that, a sample is read. The sample must equal the sample "
     "of a copy of which more was read.",
     "A few other values among zeros, in a copy of more than 4 MiB, are not detected."},
    {finding_kind::migrations, "migrations", "Managed memory migrates between host and GPU page by page.",
     "At least 16 MiB of pages migrate.", "The recording does not show which line accessed the pages."},
    {finding_kind::copies_not_overlapped, "copies_not_overlapped", "The GPU waits for copies while no kernel runs.",
     "Copies without a concurrent kernel take 1 % of the active time, and kernels run during less than a quarter of "
     "the copies' time. The finding is only a note if the copies do not recur, that is, if they occur in fewer than 4 "
     "of 8 equal parts of the kernels' time.",
     "The recording does not show whether the next kernel needs the data that is copied."},
    {finding_kind::fp32_products, "fp32_products",
     "Matrix products compute in FP32 without tensor cores, although the GPU could use them for TF32.",
     "The finding is never a warning, because TF32 is less precise. The GPU has compute capability 8.0 or higher, and "
     "kernels whose names tell such products (ampere_sgemm, cutlass_80_simt_sgemm, xmma_gemm_f32f32_f32f32, "
     "magma_sgemmEx_kernel of floats) take 5 % of its busy time. The saving comes from a simulation in which each of "
     "them takes 27 % of its time, which is twice what the peaks of A100, H100 and B200 allow; the saving is unknown "
     "on "
     "other GPUs. Work that waited for the host starts no earlier.",
     "Names do not tell products of Triton, of XLA or of the program's own kernels, and not whether the program needs "
     "the precision. Convolutions of cuDNN do not count, because PyTorch lets them use TF32 by default and cuDNN "
     "chooses FP32 where that is faster. cuDNN's recurrent layers may launch the same kernels as cuBLAS; no setting "
     "changes those. Needs kernel times (record --mode timeline)."},
    {finding_kind::frequent_waits, "frequent_waits",
     "The host waits for the GPU, and the GPU is idle until it has new work.",
     "There are at least 4 idle gaps that start while the host waits in a call such as "
     "cuStreamSynchronize. A gap counts for at most as long as the host waited. The saving comes from a simulation of "
     "the process without such calls. Each line gets its part of the gain.",
     gaps_seen},
    {finding_kind::hidden_waits, "hidden_waits",
     "A call that does not look like a wait waits for the GPU, which is then idle until it has new work.",
     "The rule is the same as for frequent waits, but for a blocking copy, cuMemFree or cuMemAlloc.", gaps_seen},
    {finding_kind::idle_gaps, "idle_gaps", "The GPU is idle while the host does other work.",
     "There are at least 4 idle gaps, 0.5 % of the active time in total, in parts of which the host is in no call that "
     "blocks it, loads code, or reads files. Each ns has one cause: a call; a range for garbage collection, "
     "torch.compile or the DataLoader; locks, other threads or Python's GIL, while all threads that launch work wait "
     "for them; or the program's own code. Sluice adds these ranges. Launches are too slow if the host launches work "
     "one by one, with less than 20 us of its own code before each launch, and the GPU runs it faster; calls of 100 us "
     "or more are not counted as launches. The saving is the idle time of each such sequence, minus what it would cost "
     "as a CUDA graph: 10 us, and 1.1 us for each kernel.",
     "Needs kernel times (record --mode timeline). The finding names the next line that allocates or copies. Waits "
     "for a mutex of C or C++, and the work of threads without ranges, are not seen."},
});
static_assert(rules.size() == finding_kind_count);
static_assert([] {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (static_cast<std::size_t>(rules[i].kind) != i) return false;
  return true;
}());

}  // namespace

std::span<const finding_rule> finding_rules() { return rules; }

std::string_view get_word(finding_kind kind) { return rules[static_cast<std::size_t>(kind)].word; }

const finding_rule* rule_named(std::string_view word) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const finding_rule& each) { return each.word == word; });
  return found == rules.end() ? nullptr : &*found;
}

std::string to_text(const finding_rule& rule) {
  return fmt::format("{}\n\n  Meaning: {}\n  How it is detected: {}\n  Limitations: {}", rule.word, rule.means,
                     rule.found_by, rule.cannot_see);
}

}  // namespace sluice::metrics
