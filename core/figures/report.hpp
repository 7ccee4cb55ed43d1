#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/allocation_retries.hpp"
#include "core/figures/attribution_choice.hpp"
#include "core/figures/duplicates.hpp"
#include "core/figures/memory_at_marks.hpp"
#include "core/figures/out_of_memory/out_of_memory.hpp"
#include "core/figures/range_statistics.hpp"
#include "core/figures/stack_use.hpp"
#include "core/figures/tensor_report.hpp"
#include "core/figures/waste/cache_use.hpp"
#include "core/figures/waste/copy_waste.hpp"
#include "core/figures/waste/dead_writes.hpp"
#include "core/figures/waste/forced_growth.hpp"
#include "core/figures/waste/growth.hpp"
#include "core/figures/waste/held_twice.hpp"
#include "core/figures/waste/idle_gaps.hpp"
#include "core/figures/waste/idle_memory.hpp"
#include "core/figures/waste/ranks.hpp"
#include "core/figures/waste/reserved_replays.hpp"
#include "core/index/memory/faults.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/recorded_message.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/model.hpp"

/// The report on a recording or a range of it: its figures and what follows from them (peaks with their holders, blocks
/// never freed, findings). `sluice report` prints it, the window shows it.
namespace sluice::analysis {

/// Blocks live at one moment that have the same name and pool.
struct holder {
  trace::string_id name{};
  trace::pool_id pool{};
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// A line of the program, with the sums over all stacks it stands for (symbols::line_to_name).
struct line_use {
  symbols::frame_line line;
  stack_figures figures;
  stack_figures inferred;                  ///< The part with inferred frames in its stacks (trace::inferred_mark).
  stack_figures heaviest;                  ///< The figures of `stack` alone.
  std::vector<symbols::frame_line> stack;  ///< The stack with the largest sum, innermost first.
};

/// A list of program lines, largest sum first.
struct line_uses {
  std::vector<line_use> lines;  ///< At most `report::line_limit`.
  stack_figures other;          ///< Sum of the lines beyond the limit.
  stack_figures without;        ///< Sum of everything without a recorded stack.
  stack_figures total;
  [[nodiscard]] bool empty() const { return lines.empty(); }
};

/// Who asked for the memory of a peak.
struct attributed_use {
  symbols::attribution by = symbols::attribution::line;
  bool chosen_by_reader = false;  ///< False: `by` is what `most_even` says of the main peak: see `report::grouping`.
  attribution_choice choice;      ///< What `most_even` says of this peak.
  line_uses groups;               ///< By the lines of `symbols::attributor`. Empty if no stacks were recorded.
};

/// Copies of one direction on one device, by program line: longest wait of the device first, then longest duration.
struct copying_lines {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  bool kernels_known = false;  ///< False: unknown for which copies the device waited.
  line_uses uses;
};

/// The highest use of the memory of one layer and kind on one device, and the blocks that held it.
struct memory_peak {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t bytes = 0;
  time_ns time = 0;
  std::uint64_t blocks = 0;
  std::vector<holder> holders;    ///< Biggest first, at most `report::holder_limit`.
  std::uint64_t other_bytes = 0;  ///< Bytes of holders beyond the limit.
  line_uses lines{};              ///< Empty if no stacks were recorded.
  attributed_use asked_by{};      ///< The same bytes by who asked for them: `report::grouping`.
};

/// A block allocated in the recording and still live at its end.
struct unfreed_block {
  trace::block_id block{};
  trace::event_id alloc{};
  trace::string_id name{};
  trace::device_id device{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  time_ns born = 0;
};

/// Blocks of one layer and kind that a process never freed.
struct unfreed_group {
  trace::process_id process{};
  bool process_ended = false;  ///< False: the process still ran when recording ended, and may free the blocks later.
  /// True if some of the blocks were born in each quarter of the time from the first one's birth to the end of the
  /// range. A leak does that; memory that a program sets up once and holds until its end does not.
  bool keeps_growing = false;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<unfreed_block> largest;  ///< Biggest first, at most `report::unfreed_limit`.
};

/// A failed allocation that reached the program. Those that were retried are in `allocation_retries`.
struct failed_allocation {
  trace::event_id event{};
  time_ns time = 0;
  trace::process_id process{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::string_id call{};
  std::uint64_t bytes = 0;
  std::int64_t error = 0;
};

/// Free space inside a layer's segments at the time of its highest use.
/// fragmentation = 1 - largest hole / all holes; 0 if there is at most one hole.
struct fragmentation_figure {
  trace::device_id device{};
  trace::layer layer = trace::layer::pool;
  time_ns time = 0;
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free = 0;
  double fragmentation = 0;
};

/// `core/figures/findings/rules.cpp` says what each kind means, how it is found, and what it cannot see.
enum class finding_kind : std::uint8_t {
  // Errors, and what limits all figures.
  gpu_fault,
  failed_allocations,
  retried_allocations,
  lost_events,
  // Memory.
  memory_grows,
  unfreed_blocks,
  never_used,
  allocated_early,
  held_late,
  idle_block,
  reusable_block,
  dead_write,
  gradients_kept,
  cached_unused,
  fragmentation,
  driver_allocations,
  activations_dominate,
  optimizer_state_dominates,
  untracked_memory,
  held_in_two_types,
  rank_imbalance,
  replicated_state,
  // Transfers.
  pageable_copies,
  slow_copies,
  small_copies,
  repeated_copies,
  round_trips,
  zero_uploads,
  migrations,
  copies_not_overlapped,
  // Waiting.
  frequent_waits,
  hidden_waits,
  idle_gaps
};
inline constexpr std::size_t finding_kind_count = 33;

/// How a saving is known.
enum class saving_basis : std::uint8_t {
  none,      ///< Nothing is known of what the advice would save.
  measured,  ///< Taken from the recording: time that the device waited, bytes that nothing used.
  swept,     ///< The curve of the live bytes was added up again without the finding's blocks.
  modelled   ///< From the recording and what the link can carry, or by replaying requests through another allocator.
};

/// What following a finding's advice saves, at most. Savings of two findings can be of the same time.
struct saving {
  std::uint64_t peak_bytes = 0;      ///< Off the highest use of a layer's memory.
  std::uint64_t reserved_bytes = 0;  ///< Off what a pool or framework holds without using it.
  time_ns time = 0;                  ///< Off the active time, in ns.
  saving_basis basis = saving_basis::none;
  /// The saving divided by the peak, by the reserved bytes, or by the active time: 0..1.
  double share = 0;
  /// Bytes by which the saving of bytes may be more or less; 0: it is a bound, "at most".
  std::uint64_t bytes_error = 0;
};

/// Where in the program something was asked for.
struct code_place {
  bool known = false;          ///< False: no stack was recorded.
  symbols::frame_line line;    ///< The program's own line: `symbols::attribution::line`.
  symbols::frame_line caller;  ///< Who called it; equal to `line` if nothing of the program did.
  std::string module;          ///< "GPT2MLP.forward"; empty if unknown.
  bool owned = true;           ///< False: a library such as cuBLAS or NCCL asked, for itself.
  std::string maker;           ///< "PyTorch", "CuPy", "JAX" or "Numba" if the stack has a frame of it; else empty.
};

/// Blocks that one line or module of the program made, in a list of an `out_of_memory_report`.
struct oom_line {
  code_place place;                ///< Of the stack with most bytes.
  category what = category::none;  ///< Of the most bytes.
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pinned_bytes = 0;  ///< See `held_share`.
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
  time_ns last_use = trace::unknown_time;  ///< Of the largest block, before the failure.
};

struct oom_list {
  std::vector<oom_line> lines;  ///< Most bytes first, at most `limit`; of `pins` most pinned bytes first.
  std::uint64_t blocks = 0;     ///< Of all lines, those beyond the limit included.
  std::uint64_t bytes = 0;
  std::uint64_t other_blocks = 0;  ///< Beyond the limit.
  std::uint64_t other_bytes = 0;
  static constexpr std::size_t limit = 6;
};

/// A change that was checked, in words.
struct oom_change {
  remedy what{};
  remedy_check checked_by{};
  std::uint64_t freed = 0;
  std::uint64_t reserved = 0;  ///< See `checked_change`.
  std::string text;            ///< "Free 12 blocks (3.10 GiB) that nothing used any more, from train.py:12 (history)."
  std::string advice;          ///< How to do that, in the words of what made the memory.
  code_place where;            ///< Of the most bytes.
  trace::block_id block{};     ///< The largest block; none: the change is about no block.
};

/// `out_of_memory`, with its stacks named and its figures in words.
struct out_of_memory_report {
  out_of_memory figures;  ///< Without its lists of stacks.
  code_place where;       ///< Who asked.
  oom_list categories;    ///< All live blocks by category; empty if none is known.
  oom_list lines;         ///< All live blocks by line.
  oom_list modules;       ///< The same by module; empty if none is known.
  oom_list unused;
  oom_list grown;
  oom_list pins;
  std::string in_use;                                      ///< "1.10 GiB in 12 blocks, in 2.00 GiB of segments".
  std::string free;                                        ///< "1.10 GiB on the GPU; 900 MiB in the cache, ...".
  std::vector<std::pair<std::string, std::string>> facts;  ///< "free" and "1.10 GiB on the GPU, ...": in this order.
  std::string verdict;  ///< A sentence that introduces `changes`, or says that none helps.
  std::vector<oom_change> changes;
};

/// A hint in plain words with its numbers and with advice.
struct finding {
  finding_kind kind{};
  trace::severity severity = trace::severity::info;
  std::string text;    ///< One or two sentences.
  std::string advice;  ///< What to do about it.
  time_range range;    ///< Where to look.
  trace::event_id event{};
  trace::block_id block{};
  saving saves{};
  code_place where{};
  bool only_note = false;  ///< Never a warning, whatever it saves: the advice has a price.
  /// The device that the text is about, and then others of which the same is true; empty if it is not about a device.
  std::vector<trace::device_id> devices{};
};

struct process_figure {
  trace::process_id process{};
  std::uint64_t pid = 0;
  std::int64_t rank = -1;  ///< Rank in a job started by torchrun, mpirun or similar; -1: none.
  std::string command;
  std::int64_t exit_status = -1;  ///< -1: unknown.
  trace::recording_mode mode = trace::recording_mode::unknown;
  time_ns begin = trace::unknown_time;
  time_ns end = trace::unknown_time;
  time_ns complete_until = trace::unknown_time;  ///< Device times are complete until then; unknown_time: all are.
};

/// What findings need to know about waste: by call stack, before stacks are resolved to lines.
struct waste_figures {
  std::vector<idle_memory> idle;                ///< By device, layer, kind; only if touches were recorded.
  std::vector<growing_group> growing;           ///< Most bytes first.
  std::vector<dead_write_group> dead_writes;    ///< Most bytes first.
  std::vector<gap_group> gaps;                  ///< Longest total first.
  std::vector<driver_call_group> driver_calls;  ///< Longest total first.
  std::vector<copy_group> copies;               ///< Longest time alone first.
  std::vector<cache_use> caches;                ///< By pool, device.
  std::vector<rank_figures> ranks;              ///< By rank; only if several processes have one.
  std::vector<reserved_replay> replays;         ///< By device; only of PyTorch's native allocator.
  std::vector<held_twice> twice;                ///< Most bytes first; only if touches were recorded.
  std::vector<forced_growths> forced;           ///< By device; only of PyTorch's allocator.
};

struct report {
  time_range span;        ///< Time span of the whole recording.
  bool complete = false;  ///< The file was closed; otherwise it is growing, or its writer died.
  bool simulated = false;
  std::uint64_t file_bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t blocks = 0;
  std::vector<process_figure> processes;
  range_statistics whole;          ///< The figures of `span`, or of the requested time range.
  std::vector<memory_peak> peaks;  ///< By device, layer, kind; only memory that was used.
  /// What memory is grouped by, of all peaks and in all panels, unless the reader chooses: what splits `main_peak` most
  /// evenly (`most_even`).
  symbols::attribution grouping = symbols::attribution::line;
  std::vector<unfreed_group> unfreed;               ///< Most bytes first.
  std::vector<imported_memory> imports;             ///< Most bytes first.
  std::vector<copying_lines> copying;               ///< Only if API calls have stacks.
  std::vector<failed_allocation> failures;          ///< In order of time, at most `failure_limit`.
  std::vector<out_of_memory_report> out_of_memory;  ///< The first of `failures` for want of memory; at most one.
  allocation_retries retries;                       ///< Failed allocations that succeeded when asked for again.
  std::vector<gpu_fault> faults;                    ///< In order of time.
  std::vector<fragmentation_figure> fragmentation;  ///< Only if segments and their blocks are known.
  std::vector<peak_composition> compositions;       ///< What the peaks of layers with tensors consist of.
  std::vector<step_summary> steps;                  ///< By process; only if there are steps.
  std::vector<unused_memory> unused;                ///< Only if touches were recorded.
  duplicate_copies duplicates;                      ///< Only if contents were checked.
  std::vector<program_mark> marks;                  ///< In order of time, at most `mark_limit`.
  waste_figures waste;
  std::vector<finding> findings;      ///< Most important first.
  std::vector<std::string> warnings;  ///< Problems with the file or its contents.

  static constexpr std::size_t holder_limit = 8;
  static constexpr std::size_t unfreed_limit = 16;
  static constexpr std::size_t line_limit = 8;
  static constexpr std::size_t failure_limit = 64;
};

class index;

struct process_watermark {
  trace::process_id process{};
  time_ns complete_until = 0;  ///< The device times of the process are complete until then.
};

/// A report before stacks are resolved to lines: all that requires reading the events. `make_report` derives the rest
/// from these figures, from the file's tables, and from the symbols available on the reading machine.
struct report_figures {
  std::uint64_t events = 0;
  std::uint64_t blocks = 0;
  std::vector<process_watermark> watermarks;  ///< By process.
  range_statistics whole;
  std::vector<memory_peak> peaks;  ///< Without `lines`.
  std::vector<stack_use> held;     ///< Blocks live at each of `peaks`, by stack; empty if no stacks were recorded.
  std::vector<unfreed_group> unfreed;
  std::vector<imported_memory> imports;
  std::vector<stack_use> copied;  ///< Copies of each of `whole.transfers`, by stack; empty if no stacks were recorded.
  std::vector<failed_allocation> failures;
  std::vector<gpu_fault> faults;
  std::vector<fragmentation_figure> fragmentation;
  std::vector<peak_composition> compositions;
  std::vector<step_summary> steps;
  std::vector<unused_memory> unused;  ///< Grouped by stack: see `unused_memory_builder`.
  duplicate_figures duplicates;
  std::vector<program_mark> marks;
  std::vector<std::string> warnings;       ///< Problems with the contents of events.
  std::vector<recorded_message> messages;  ///< In file order.
  allocation_retries retries;
  waste_figures waste;
  std::vector<analysis::out_of_memory> out_of_memory;  ///< At most one.
};

/// The highest peak of device memory, of the innermost layer: what the shares of findings refer to. Null without any.
[[nodiscard]] const memory_peak* main_peak(const report& all);

/// How stacks are resolved to lines: with `book`, which resolves native functions at once or later.
struct naming {
  symbols::frame_book& book;
  symbols::frame_book::lookup lookup = symbols::frame_book::lookup::at_once;
  bool* provisional = nullptr;               ///< Set to true if some names are not yet known.
  std::optional<symbols::attribution> by{};  ///< For `report::grouping`; none: `most_even` chooses.
};

/// Makes the report on the whole recording, or on `range`: peaks, failures and findings of the range, and unfreed
/// blocks born in it. `from` must have read all of `trace`. O(events in the range + blocks).
[[nodiscard]] report make_report(const index& from, const trace::snapshot& trace, std::optional<time_range> range,
                                 const naming& names);
/// First step of making a report in two steps. `from` must have read all of `trace`. O(events in the range + blocks).
[[nodiscard]] report_figures figures_of(const index& from, const trace::snapshot& trace,
                                        std::optional<time_range> range = std::nullopt);
/// Second step: makes the report from `figures_of(..., trace, ...)`. O(stacks + lines of their stacks).
[[nodiscard]] report make_report(report_figures figures, const trace::snapshot& trace, const naming& names);

/// Makes the report in one step, as the first `make_report` does, and resolves native functions during the call.
[[nodiscard]] report make_report(const index& from, const trace::snapshot& trace,
                                 std::optional<time_range> range = std::nullopt);

/// What a saving is, as a sentence: "Saves up to 114 MiB of reserved memory (12 %)." Empty if nothing is known.
[[nodiscard]] std::string saving_in_words(const saving& of);

/// Returns the findings for a report, most important first. `make_report` calls it, with `names`; without them stacks
/// are not named.
[[nodiscard]] std::vector<finding> findings_of(const report& of, const trace::tables& tables,
                                               const naming* names = nullptr);

}  // namespace sluice::analysis
