#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/figures/finding_rules.hpp"
#include "core/figures/findings/thresholds.hpp"
#include "core/figures/link_share.hpp"
#include "core/figures/waste/idle_gaps.hpp"
#include "core/figures/waste/idle_memory.hpp"

namespace sluice::analysis {
namespace {

using enum finding_kind;

// The thresholds that the texts name. If one changes, so must the texts.
static_assert(warned_memory_share == 0.03 && warned_time_share == 0.02 && most_warnings == 5);
static_assert(told_idle_share == 0.005 && least_recurring == 4 && least_small_copies == 256 &&
              least_driver_calls == 8 && least_spread == 4);
static_assert(least_reserved == 64.0 * 1024 * 1024 && unused_at_last == 0.4 && fragmented == 0.5 && much_free == 0.2);
static_assert(replay_error == 0.1 && reserved_replays_builder::most_blocks == 200'000);
static_assert(imbalanced == 0.1 && reached_of_link_peak == 0.85 && growth_builder::least_blocks == 8);
static_assert(idle_for_long == 0.5 && grows_for == 0.4 && warned_loop_share == 0.1 && warned_variable_share == 0.25);
static_assert(idle_memory_builder::idle_works == 8 && idle_memory_builder::worth_moving == 4);
static_assert(idle_gaps_builder::shortest_gap == 10'000 && idle_gaps_builder::shortest_host_gap == 1'000'000);

constexpr std::string_view uses_seen =
    "A kernel uses a block if the block's address is among its arguments: an address that a kernel loads from memory "
    "is not seen. Blocks in the pools of CuPy and JAX are not recorded, only what the pools get from the driver. To "
    "see them: sluice.watch_cupy() in CuPy programs, XLA_PYTHON_CLIENT_ALLOCATOR=platform for JAX.";
constexpr std::string_view gaps_seen =
    "Needs kernel times (record --mode timeline). The line is that of the call; for the program's own code it is the "
    "next line that allocates or copies.";

constexpr auto rules = std::to_array<finding_rule>({
    {gpu_fault, "gpu_fault", "The GPU met an error that ends all work of the process: an illegal address, for example.",
     "A call returned such an error. The kernels that were enqueued before it and not known to be done are named.",
     "Which of these kernels it was. compute-sanitizer names the access."},
    {failed_allocations, "failed_allocations", "The program asked for memory and got none.",
     "An allocation failed, and the same request did not succeed right after it. What would have let it fit was "
     "checked: the blocks were taken out of the memory as it lay, or the requests replayed through a model of "
     "PyTorch's allocator.",
     "Allocations of libraries that are not recorded. What the program would have used later: most end at the "
     "failure."},
    {retried_allocations, "retried_allocations",
     "The GPU was full for a moment. The allocator freed its cache, which waits for the GPU, and asked again.",
     "A failed allocation of the driver that succeeded when repeated. The time from the failure to the success is "
     "lost. A setting of PyTorch's allocator is advised only if a replay of the requests has fewer retries with it.",
     "What the cache flush costs later, when the blocks are allocated anew."},
    {lost_events, "lost_events", "The recording is not complete, so figures can be wrong.",
     "The recorder or the tool that made the file says so.", "What was lost."},
    {memory_grows, "memory_grows", "Something keeps what each step makes: a leak, or a list or cache without a limit.",
     "At least 8 blocks from one line are live when the work ends, 1 MiB and 3 % of the peak or more; some of them "
     "were born in each eighth of the kernels since the first, which are at least half of all (of the active time "
     "where no kernels were recorded). Or the bytes "
     "in use at the begin of the steps rise in 80 % of at least 6 steps. Or, of blocks that are never used again or "
     "that none was freed of before the peak, such births go on for 40 % of the launches and copies.",
     "Growth in memory that the recorder does not see, and whether the program wants to keep it."},
    {unfreed_blocks, "unfreed_blocks", "Memory of the driver was never freed.",
     "Blocks that are live when the recording ends, without those of an allocator that keeps them by design.",
     "Whether the process frees them later, if it still runs."},
    {never_used, "never_used", "Memory was allocated and nothing ever used it.",
     "No kernel and no copy touches the block in its life, in which at least 8 others ran, and without it the peak is "
     "3 % lower.",
     uses_seen},
    {allocated_early, "allocated_early",
     "Memory is allocated long before something needs it, and raises the peak in between.",
     "At least 8 launches or copies of others ran between the allocation and the first use, clears and copies from "
     "the host aside, and the peak is 3 % lower if the block is born at its first use.",
     uses_seen},
    {held_late, "held_late", "Memory is kept after its last use, and raises the peak in between.",
     "At least 8 launches or copies of others ran after the last use, and the peak is 3 % lower if the block is freed "
     "right after its last use. Only a note below 10 % of the peak if a loop makes such blocks anew in each turn, and "
     "below "
     "25 % for the old value of a variable while the new one is made.",
     uses_seen},
    {idle_block, "idle_block", "Memory at the peak is used before and after, but not for a long time between.",
     "The time between two uses is at least 4 times what moving the block to the host and back takes, and the peak is "
     "3 % lower without it. Only a note if the idle time is less than half of the launches and copies.",
     "Idle times that span a section of a large recording, and uses by CUDA graphs."},
    {reusable_block, "reusable_block", "Two blocks of the same size are live together and never used at the same time.",
     "The last use of one is before the first use of the other, both have 1 MiB or more, and the peak is 3 % lower if "
     "the second lies where the first is; more than what freeing or allocating at the right time saves.",
     uses_seen},
    {dead_write, "dead_write", "Memory is cleared or uploaded, and then written as a whole before anything reads it.",
     "A memset, a fill kernel or a copy of the whole block, then a copy or memset of the whole block, nothing "
     "between; 16 MiB in all or more.",
     "Kernels that overwrite a block: whether they read it first is not recorded."},
    {gradients_kept, "gradients_kept", "Gradients stay allocated through the forward pass, where the peak is.",
     "Gradients that are cleared in place and then wait for the backward pass, at the peak. Without that: gradients "
     "that live over two steps and are 5 % of the peak (a note).",
     "Whether gradients are summed up over several steps on purpose."},
    {cached_unused, "cached_unused",
     "A pool or caching allocator holds far more than the program uses most of the time.",
     "It holds 64 MiB or more, and in the last 40 % of the program's launches, copies, allocations and frees at most "
     "half of that is in use. Of PyTorch's native allocator, what emptying the cache saves is replayed, within 10 %; a "
     "note if that is less than 3 %.",
     "Whether others need the memory. Recordings of more than 200,000 blocks are not replayed."},
    {fragmentation, "fragmentation", "Free memory of an allocator is in pieces that are too small.",
     "At the peak, 64 MiB or more and 20 % of what the allocator holds are free, and the largest hole is less than "
     "half of that. The requests to PyTorch's native allocator are replayed under expandable_segments:True, "
     "roundup_power2_divisions:4 and max_split_size_mb:128; if none reserves 3 % less, with the model's error of 10 %, "
     "it is a note. Also told: segments that PyTorch took from the driver although as much as was asked for was free, "
     "in "
     "holes that were too small, if they are part of the most that was reserved, 64 MiB or more and 3 % of it: a note.",
     "Fragmentation at other moments. Recordings of more than 200,000 blocks are not replayed, nor those that the "
     "native model does not reproduce: what is saved is then all that is free."},
    {driver_allocations, "driver_allocations",
     "The program allocates and frees memory of the driver again and again: each call is slow, and frees wait for the "
     "GPU.",
     "At least 8 allocations and 8 frees of blocks from one line, spread over a quarter of the working time.",
     "Calls inside libraries are attributed to the line that called them."},
    {activations_dominate, "activations_dominate", "Activations are half of the peak or more.",
     "Categories at the peak; 64 MiB or more.", "Categories are inferred, unless the program names them."},
    {optimizer_state_dominates, "optimizer_state_dominates", "The optimizer's state is 40 % of the peak or more.",
     "Categories at the peak; 64 MiB or more.", "Categories are inferred, unless the program names them."},
    {untracked_memory, "untracked_memory", "Much memory of the GPU belongs to nothing that was recorded.",
     "1 GiB or more of what the driver says is in use.", "Whose it is."},
    {held_in_two_types, "held_in_two_types",
     "The same values are held twice, in two types: fp32 weights and a fp16 copy.",
     "Only a note. The first use of a block is a kernel that is given this block and one other, and no more, of twice "
     "or "
     "half "
     "the size (of four times or a quarter if a category is known), and both are live at the peak and for half of the "
     "time from then on; the smaller ones are 3 % of the peak. Gradients, activations and inputs do not count.",
     "What the kernel did: a block may be computed from another one of twice its size. Copies that are written again "
     "into a block that exists, or by kernels with more arguments."},
    {rank_imbalance, "rank_imbalance", "One rank of a job needs more memory than the others, or makes them wait.",
     "Its peak is 10 % higher than the median of the others, or what its allocator then holds, by 64 MiB. Or the "
     "others "
     "wait for it in collectives for 2 % of the working time longer than it waits (10 % if its kernels take no "
     "longer): "
     "of each collective, the time beyond that of the rank that needs least. Waits of a length that occurs fewer than "
     "four times are left out: that is how long connecting takes. Or its median step is 10 % longer. Ranks with less "
     "than "
     "a twentieth of the collectives of another one are not compared: they do not train with the others.",
     "Ranks on machines that were not recorded. Collectives of other libraries than NCCL. NCCL says nothing of groups "
     "of "
     "ranks: kernels of one name belong together if they run at the same time, on streams where such kernels end "
     "together again and again. Others are not compared, nor are groups that share a stream. Stages of a pipeline wait "
     "for each other by design: only one whose kernels take longer is named."},
    {replicated_state, "replicated_state", "Each rank holds all weights and all of the optimizer's state.",
     "Only a note. All ranks but at most one hold the same number of bytes and blocks of weights and optimizer state, "
     "line by line, "
     "and "
     "their collectives are all-reduces, with at most one all-gather or reduce-scatter in ten; sharding would win 3 % "
     "of "
     "the peak.",
     "What the blocks contain: with tensor parallelism, shards are equally large, too. Sharding that gathers once in "
     "more "
     "than ten all-reduces. Needs kernel times (record --mode "
     "timeline)."},
    {pageable_copies, "pageable_copies", "Copies from or to pageable memory are staged by the driver, and slow.",
     "16 MiB or more and 10 % of the bytes of a direction, slower than 75 % of the link. What pinning saves is the "
     "time beyond 85 % of the link's peak. Only a note if they do not recur: if they happen in fewer than 4 of 8 equal "
     "parts of the kernels' time.",
     "What pinning costs."},
    {slow_copies, "slow_copies", "Large copies from pinned memory stay far below the link's peak.",
     "64 MiB or more in copies of 1 MiB on average, below 60 % of the link.", "What else uses the link."},
    {small_copies, "small_copies", "Many small copies: starting each costs more than moving it.",
     "256 or more copies below 64 KiB from one line. What is saved: their time, less that of one copy of all bytes.",
     "Whether the data can be gathered."},
    {repeated_copies, "repeated_copies", "The same bytes are copied to the GPU again.",
     "Copies with the same contents (record --find-duplicates), 1 MiB or 256 of them, other than round trips and "
     "uploads of zeros. Contents are compared by a hash: of all bytes up to 32 KiB, of a sample of larger ones.",
     "Copies in graphs and batches, and those that the recorder left out to save time."},
    {round_trips, "round_trips", "Data is copied to the host and back to the GPU unchanged.",
     "A copy to the GPU with the contents of a copy from it that came after the last such upload (record "
     "--find-duplicates), 64 bytes or more; 1 MiB or 256 of them. What is saved: the time of both copies.",
     "Whether the host reads the data, too: then only the copy back can go. Copies to page-locked memory whose end the "
     "program learns of by a host function or another stream, and the device's own changes between the two copies."},
    {zero_uploads, "zero_uploads", "Zeros are copied to the GPU, where a memset would do.",
     "Copies whose contents are all zero (record --find-duplicates), 1 MiB or 256 of them. Up to 4 MiB of one copy are "
     "read. If there is no time for that, a sample is read, and has to be the same as that of a copy of which more "
     "was.",
     "A few values between zeros, in a copy of more than 4 MiB."},
    {migrations, "migrations", "Managed memory moves between host and GPU page by page.",
     "16 MiB or more in migrations.", "Which line touched the pages."},
    {copies_not_overlapped, "copies_not_overlapped", "The GPU waits for copies, while no kernel runs beside them.",
     "Copies without a kernel take 1 % of the working time, and kernels run beside less than a quarter of the copies' "
     "time. Only a note if they do not recur: if they happen in fewer than 4 of 8 equal parts of the kernels' time.",
     "Whether the next kernel needs the data that is being copied."},
    {frequent_waits, "frequent_waits", "The host waits for the GPU, and the GPU is idle until it has new work.",
     "Idle gaps of 10 us or more that begin while the host waits in a call such as cuStreamSynchronize; 4 or more. A "
     "gap counts for at most as long as the host waited. What is saved: the process is played again without such "
     "calls, and each line gets its part of the gain.",
     gaps_seen},
    {hidden_waits, "hidden_waits",
     "A call that does not look like a wait waits for the GPU, which is idle until it has new work.",
     "As for frequent waits, but in a blocking copy, cuMemFree or cuMemAlloc.", gaps_seen},
    {idle_gaps, "idle_gaps", "The GPU has nothing to do while the host does something else.",
     "Idle gaps of 1 ms or more in which the host is in no call, or loads code, or reads files; 4 or more, 0.5 % of "
     "the working time. Garbage collection, torch.compile and the DataLoader are named if ranges of theirs cover half "
     "of a gap, and locks, other threads and Python's GIL if all threads that launch work wait for them in half of it: "
     "Sluice adds these ranges.",
     "Needs kernel times (record --mode timeline). The line is the next one that allocates or copies. Not seen: waits "
     "for "
     "a mutex of C or C++, and what threads without ranges do."},
});
static_assert(rules.size() == finding_kind_count);
static_assert([] {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (static_cast<std::size_t>(rules[i].kind) != i) return false;
  return true;
}());

}  // namespace

std::span<const finding_rule> finding_rules() { return rules; }

std::string_view word_of(finding_kind kind) { return rules[static_cast<std::size_t>(kind)].word; }

const finding_rule* rule_named(std::string_view word) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const finding_rule& each) { return each.word == word; });
  return found == rules.end() ? nullptr : &*found;
}

std::string text_of(const finding_rule& rule) {
  return fmt::format("{}\n\n  What it means: {}\n  How it is found: {}\n  What it cannot see: {}", rule.word,
                     rule.means, rule.found_by, rule.cannot_see);
}

}  // namespace sluice::analysis
