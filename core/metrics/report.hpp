#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/memory/faults.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/recorded_message.hpp"
#include "core/metrics/allocation_retries.hpp"
#include "core/metrics/analyzers/cache_use.hpp"
#include "core/metrics/analyzers/copy_waste.hpp"
#include "core/metrics/analyzers/dead_writes.hpp"
#include "core/metrics/analyzers/forced_growth.hpp"
#include "core/metrics/analyzers/fp32_products.hpp"
#include "core/metrics/analyzers/growth.hpp"
#include "core/metrics/analyzers/held_twice.hpp"
#include "core/metrics/analyzers/idle_memory.hpp"
#include "core/metrics/analyzers/ranks.hpp"
#include "core/metrics/analyzers/reserved_replays.hpp"
#include "core/metrics/attribution_choice.hpp"
#include "core/metrics/duplicates.hpp"
#include "core/metrics/idle/idle_gaps.hpp"
#include "core/metrics/memory_at_marks.hpp"
#include "core/metrics/out_of_memory/out_of_memory.hpp"
#include "core/metrics/range_statistics.hpp"
#include "core/metrics/stack_use.hpp"
#include "core/metrics/tensor_report.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/model.hpp"

/// The report on a recording, or on a time range of the recording. A report has metrics, and conclusions from the
/// metrics (peaks with their holders, blocks never freed, findings). `sluice report` prints the report, and the window
/// shows it.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Blocks live at one point in time that have the same name and pool.
struct holder {
  trace::string_id name{};
  trace::pool_id pool{};
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};

/// A program line, with the sums over all stacks that are attributed to it (`symbols::line_to_name`).
struct line_use {
  symbols::frame_line line;
  stack_metrics metrics;
  /// The part of `metrics` due to stacks that contain inferred frames (`trace::inferred_mark`).
  stack_metrics inferred;
  stack_metrics heaviest;                  ///< The metrics of `stack` alone.
  std::vector<symbols::frame_line> stack;  ///< The stack with the largest sum, innermost frame first.
};

/// A list of program lines, largest sum first.
struct line_uses {
  std::vector<line_use> lines;  ///< At most `report::line_limit`.
  stack_metrics other;          ///< Sum over the lines beyond the limit.
  stack_metrics without;        ///< Sum over everything without a recorded stack.
  stack_metrics total;
  [[nodiscard]] bool empty() const { return lines.empty(); }
};

/// The code that allocated the memory of a peak.
struct attributed_use {
  symbols::attribution by = symbols::attribution::line;
  /// False if `by` is the grouping that `most_even` chose for the main peak: see `report::grouping`.
  bool chosen_by_reader = false;
  attribution_choice choice;  ///< The result of `most_even` for this peak.
  line_uses groups;           ///< The groups, as named by `symbols::attributor`. Empty if no stacks were recorded.
};

/// Copies of one direction on one device, by program line. The lines for which the device waited longest come first,
/// then the lines with the longest duration.
struct copying_lines {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  bool kernels_known = false;  ///< False if it is unknown for which copies the device waited.
  line_uses uses;
};

/// The maximum use of the memory of one layer and kind on one device, and the blocks that held it.
struct memory_peak {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t bytes = 0;
  time_ns time = 0;
  std::uint64_t blocks = 0;
  std::vector<holder> holders;    ///< Sorted by bytes, largest first; at most `report::holder_limit`.
  std::uint64_t other_bytes = 0;  ///< Total bytes of the holders beyond the limit.
  line_uses lines{};              ///< Empty if no stacks were recorded.
  /// The same bytes, by the code that allocated them, grouped as in `report::grouping`.
  attributed_use asked_by{};
};

/// A block that was allocated in the recording and is still live at the end of the recording.
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
  /// True if the process had ended. If false, the process was still running when the recording ended, and may free the
  /// blocks later.
  bool process_ended = false;
  /// True if some of the blocks were allocated in each quarter of the time from the first allocation to the end of the
  /// range. This pattern indicates a leak. Memory that a program sets up once and holds until it ends does not show
  /// this pattern.
  bool keeps_growing = false;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<unfreed_block> largest;  ///< The largest blocks, largest first; at most `report::unfreed_limit`.
};

/// A failed allocation that the program saw. Failures that succeeded on a retry are in `allocation_retries`.
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

/// Free space inside a layer's segments when the use of the layer's memory is highest. fragmentation = 1 - largest hole
/// / all holes; 0 if there is at most one hole.
struct fragmentation_metric {
  trace::device_id device{};
  trace::layer layer = trace::layer::pool;
  time_ns time = 0;
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free = 0;
  double fragmentation = 0;
};

/// The kind of a finding. `core/metrics/findings/rules.cpp` explains each kind: its meaning, how it is detected, and
/// what it cannot detect.
enum class finding_kind : std::uint8_t {
  // Errors, and problems that affect all metrics.
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
  // Kernels.
  fp32_products,
  // Waiting.
  frequent_waits,
  hidden_waits,
  idle_gaps
};
inline constexpr std::size_t finding_kind_count = 34;

/// How a saving was determined.
enum class saving_basis : std::uint8_t {
  none,      ///< The effect of the advice is unknown.
  measured,  ///< Taken from the recording, for example the time for which the device waited, or bytes that nothing
             ///< used.
  swept,     ///< The maximum of the live bytes was recomputed without the finding's blocks. The saving is the
             ///< reduction.
  /// Computed from the recording and the link's capacity, or by replaying requests through a model of an allocator.
  modelled
};

/// The most that a user can save by following a finding's advice. Savings of two findings may overlap.
struct saving {
  std::uint64_t peak_bytes = 0;      ///< Reduction of the maximum use of one layer's memory.
  std::uint64_t reserved_bytes = 0;  ///< Reduction of the unused memory that a pool or framework holds.
  time_ns time = 0;                  ///< Reduction of the active time, in ns.
  saving_basis basis = saving_basis::none;
  /// The saving as a share (0..1) of the active time, of the peak (`peak_share` in findings/finder.hpp), or, for
  /// reserved bytes, of the most memory that the device held (`reserved_share` there). Findings are ranked by this
  /// number.
  double share = 0;
  /// The possible error of the saved bytes, plus or minus; 0 if the saving is an upper bound.
  std::uint64_t bytes_error = 0;
};

/// The place in the program that requested something.
struct code_place {
  bool known = false;          ///< False if no stack was recorded.
  symbols::frame_line line;    ///< The line in the program's own code (`symbols::attribution::line`).
  symbols::frame_line caller;  ///< The caller of that line; equal to `line` if it has no caller in the program.
  std::string module;          ///< The module, such as "GPT2MLP.forward"; empty if unknown.
  bool owned = true;           ///< False if a library such as cuBLAS or NCCL allocated the memory for itself.
  /// "PyTorch", "CuPy", "JAX" or "Numba" if the stack has a frame of that framework; otherwise empty.
  std::string maker;
};

/// Blocks allocated by one program line or module, in a list of an `out_of_memory_report`.
struct oom_line {
  code_place place;                                  ///< The place of the stack with the most bytes.
  index::category category = index::category::none;  ///< The category with the most bytes.
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pinned_bytes = 0;  ///< See `held_share`.
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
  time_ns last_use = trace::unknown_time;  ///< Last use of the block `largest` before the failure.
};

/// A list of an `out_of_memory_report`.
struct oom_list {
  std::vector<oom_line> lines;  ///< Sorted by bytes (in `pins` by pinned bytes), most first; at most `limit`.
  std::uint64_t blocks = 0;     ///< Number of blocks in all lines, including those beyond the limit.
  std::uint64_t bytes = 0;
  std::uint64_t other_blocks = 0;  ///< Number of blocks in the lines beyond the limit.
  std::uint64_t other_bytes = 0;   ///< Bytes in the lines beyond the limit.
  static constexpr std::size_t limit = 6;
};

/// A checked change, described in words.
struct oom_change {
  remedy kind{};
  remedy_check checked_by{};
  std::uint64_t freed = 0;
  std::uint64_t reserved = 0;  ///< See `checked_change`.
  /// A sentence such as "Free 12 blocks (3.10 GiB) that nothing used any more, from train.py:12 (history)."
  std::string text;
  std::string advice;       ///< How to make the change, worded for the framework that allocated the memory.
  code_place where;         ///< The place with the most bytes.
  trace::block_id block{};  ///< The largest block; `none` if the change does not concern blocks.
};

/// `out_of_memory`, with its stacks resolved to places and its metrics described in words.
struct out_of_memory_report {
  out_of_memory metrics;  ///< The lists of stacks in it are empty.
  code_place where;       ///< The place of the failed request.
  oom_list categories;    ///< All live blocks by category; empty if no category is known.
  oom_list lines;         ///< All live blocks by line.
  oom_list modules;       ///< All live blocks by module; empty if no module is known.
  oom_list unused;
  oom_list grown;
  oom_list pins;
  /// How much the request was short, such as "14.2 GiB"; "up to 14.2 GiB" if the free memory is unknown.
  std::string short_by;
  /// The sum behind it, such as "Short by 14.2 GiB: 46.7 GiB asked; 28.9 GiB free on the GPU, and 3.60 GiB that PyTorch
  /// could give back". Says what is unknown. Without a final period.
  std::string shortage;
  /// Text such as "1.10 GiB in 12 blocks, in 2.00 GiB of segments".
  std::string in_use;
  /// Text such as "1.10 GiB on the GPU; 900 MiB in the cache, ...".
  std::string free;
  /// Labels and texts to show in this order, such as "free" and "1.10 GiB on the GPU, ...".
  std::vector<std::pair<std::string, std::string>> facts;
  std::string verdict;  ///< A sentence that introduces `changes`, or says that no change would help.
  std::vector<oom_change> changes;
};

/// A conclusion from the metrics, in plain words, with numbers and advice.
struct finding {
  finding_kind kind{};
  trace::severity severity = trace::severity::info;
  std::string text;    ///< One or two sentences.
  std::string advice;  ///< How to fix the problem.
  time_range range;    ///< Where to look.
  trace::event_id event{};
  trace::block_id block{};
  saving saves{};
  code_place where{};
  /// If true, the finding is never a warning, however large the saving, because following the advice has a cost. The
  /// finding's place among the others depends on its saving alone.
  bool only_note = false;
  /// The device that the text describes, followed by other devices to which the same applies; empty if the finding is
  /// not about a device.
  std::vector<trace::device_id> devices{};
  /// True if a report lists the finding under "Findings" rather than under "Smaller findings": see `rank` in
  /// findings/thresholds.hpp. All major findings come before all others.
  bool major = false;
  /// What the title (`get_title` in verdict/finding_title.hpp) adds to the name of the problem, such as "304 MiB in 19
  /// blocks"; may be empty.
  std::string detail{};
  std::int64_t rank = -1;  ///< The rank that is slower than the others, or needs more; -1 if there is none.
};

/// A process of the recording.
struct process_metric {
  trace::process_id process{};
  std::uint64_t pid = 0;
  std::int64_t rank = -1;  ///< Rank in a job started by torchrun, mpirun or similar; -1 if the process has none.
  std::string command;
  std::int64_t exit_status = -1;  ///< -1 if unknown.
  trace::recording_mode mode = trace::recording_mode::unknown;
  time_ns begin = trace::unknown_time;
  time_ns end = trace::unknown_time;
  /// Device times are complete up to this time. `unknown_time` means that they are complete throughout.
  time_ns complete_until = trace::unknown_time;
};

/// The waste that findings report, grouped by call stack, before stacks are resolved to lines.
struct waste_metrics {
  /// Sorted by device, layer and kind; empty if no touches were recorded.
  std::vector<idle_memory> idle;
  std::vector<growing_group> growing;           ///< Most bytes first.
  std::vector<dead_write_group> dead_writes;    ///< Most bytes first.
  std::vector<gap_group> gaps;                  ///< Sorted by `total`, longest first.
  std::vector<driver_call_group> driver_calls;  ///< Sorted by `total`, longest first.
  std::vector<copy_group> copies;               ///< Sorted by `alone`, longest first.
  std::vector<cache_use> caches;                ///< Sorted by pool and device.
  std::vector<rank_metrics> ranks;              ///< Sorted by rank; empty unless several processes have a rank.
  std::vector<reserved_replay> replays;         ///< Sorted by device; only for PyTorch's native allocator.
  std::vector<held_twice> twice;                ///< Most bytes first; empty if no touches were recorded.
  std::vector<forced_growths> forced;           ///< Sorted by device; only for PyTorch's allocator.
  std::vector<fp32_products> products;          ///< Sorted by process and device; empty if there are none.
  std::vector<device_idle> idle_times;          ///< Sorted by device; only devices that ran kernels.
};

/// What takes most of the time after start-up.
enum class run_bound : std::uint8_t {
  unknown,   ///< No kernel times were recorded, or nothing ran.
  kernels,   ///< Kernels and memsets, without collectives that run alone.
  launches,  ///< Idle time, most of it because the host launches kernels more slowly than the GPU runs them.
  copies,    ///< Copies during which no kernel ran.
  waiting,   ///< Collectives that run alone, in which a GPU waits for the others or for the network.
  idle       ///< Idle time, most of it due to another cause: see `run_verdict::idle_cause`.
};

/// Returns the bound as one word for SQL and JSON, such as "launches". These words are public.
[[nodiscard]] std::string_view get_word(run_bound bound);

/// How a device spent the time after start-up. The rest of `run_verdict::time` is idle.
struct device_time {
  trace::device_id device{};
  /// Time with kernels or memsets (`device_activity::busy`), without the two that follow.
  time_ns busy = 0;
  time_ns only_copies = 0;       ///< `device_activity::copy_only`.
  time_ns only_collectives = 0;  ///< `device_idle::collectives_alone`.
};

/// A number of the verdict, to show on its own, such as "45 %" and "GPU busy".
struct verdict_number {
  std::string value;
  std::string label;
};

/// The verdict. Every number is one of the report's, or a sum or quotient of those, as stated here.
struct run_verdict {
  /// Everything in one line: numbers, bound, problems, largest opportunity, and what was not recorded.
  std::string text;
  /// The most important part of `text`, without a final period: an error, else the bound, else the largest problem.
  std::string headline;
  /// The largest opportunities, as in `text`; empty if no finding saves `worth_naming`.
  std::string opportunity;
  std::vector<verdict_number> numbers;  ///< The numbers in `text` about the whole run, without what is unknown.
  std::vector<std::string> missing;     ///< What was not recorded, such as "kernel times not recorded".
  run_bound bound = run_bound::unknown;
  bool no_problem = false;  ///< `text` says that no problem was found.

  time_ns time = 0;  ///< Active time without one-time work (`working_time`), to which the shares of time refer.
  bool after_start_up = false;       ///< True if one-time work takes a notable part of the active time.
  std::vector<device_time> devices;  ///< Devices that ran kernels or, if none did, copies. Empty if unknown.
  /// The cause with the most idle time after start-up (`cause_time`, without the one-time part of the same cause's
  /// `gap_group`s), as a mean over `devices`. No value if the device is not idle, or the cause is unknown.
  std::optional<gap_cause> idle_cause;
  time_ns idle_cause_time = 0;

  time_ns step = 0;         ///< Longest `step_summary::median_duration` of the processes; 0 if there are no steps.
  std::uint64_t steps = 0;  ///< The number of steps of that process.
  bool steps_inferred = false;

  std::uint64_t peak = 0;  ///< `main_peak`; 0 if no device memory was recorded.
  trace::device_id peak_device{};
  std::uint64_t device_bytes = 0;  ///< The memory of `peak_device`; 0 if unknown.
  /// The most memory in use on the device that came closest to its limit: `untracked_statistics::used_maximum` or, if
  /// it was not sampled, the maximum of the driver layer, and the memory of that device.
  std::uint64_t used = 0, used_of = 0;
  bool near_limit = false;  ///< `used` is at least `nearly_full` of `used_of`.

  std::int64_t slow_rank = -1;  ///< The rank that the others wait for, or whose steps take longer; -1 if there is none.

  /// Indices in `report::findings` of the finding that saves the largest share, of time or memory, and of the one that
  /// saves the largest share of the other; at least `worth_naming`.
  std::optional<std::size_t> largest, other;

  [[nodiscard]] double get_share(time_ns part) const {
    return time > 0 ? static_cast<double>(part) / static_cast<double>(time) : 0;
  }
  /// Returns the idle time of a device after start-up.
  [[nodiscard]] time_ns get_idle(const device_time& of) const {
    const time_ns rest = time - of.busy - of.only_copies - of.only_collectives;
    return rest > 0 ? rest : 0;
  }

  /// From this share (of time, peak or reserved memory) on, a finding is an opportunity. Runs differ by about as much.
  static constexpr double worth_naming = 0.03;
  /// From this share on, a GPU is busy: what is left are gaps between kernels and the ends of steps.
  static constexpr double busy = 0.9;
  /// From this share on, the memory of a GPU is near its limit: a rare larger batch then fails.
  static constexpr double nearly_full = 0.9;
};

/// The report on a recording or on a time range.
struct report {
  time_range span;        ///< Time span of the whole recording.
  bool complete = false;  ///< True if the file was closed. Otherwise, the file is growing, or its writer was killed.
  bool simulated = false;
  std::uint64_t file_bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t blocks = 0;
  std::vector<process_metric> processes;
  range_statistics whole;          ///< The metrics of `span`, or of the requested time range.
  std::vector<memory_peak> peaks;  ///< Sorted by device, layer and kind; only memory that was used.
  /// The grouping of memory at all peaks and in all panels, unless the user chooses another. This is the grouping that
  /// splits `main_peak` most evenly (`most_even`).
  symbols::attribution grouping = symbols::attribution::line;
  std::vector<unfreed_group> unfreed;           ///< Most bytes first.
  std::vector<index::imported_memory> imports;  ///< Most bytes first.
  std::vector<copying_lines> copying;           ///< Empty if API calls have no stacks.
  std::vector<failed_allocation> failures;      ///< In order of time, at most `failure_limit`.
  /// The first of `failures` caused by a lack of memory; at most one element.
  std::vector<out_of_memory_report> out_of_memory;
  allocation_retries retries;                       ///< Failed allocations that succeeded when retried.
  std::vector<index::gpu_fault> faults;             ///< In order of time.
  std::vector<fragmentation_metric> fragmentation;  ///< Empty unless segments and the blocks in them are known.
  std::vector<peak_composition> compositions;       ///< Composition of the peaks of layers with tensors.
  std::vector<step_summary> steps;                  ///< Sorted by process; empty if there are no steps.
  std::vector<unused_memory> unused;                ///< Empty if no touches were recorded.
  duplicate_copies duplicates;                      ///< Set only if the contents of copies were checked.
  std::vector<program_mark> marks;                  ///< In order of time, at most `mark_limit`.
  waste_metrics waste;
  std::vector<finding> findings;      ///< Most important first.
  run_verdict verdict;                ///< The first line of the report: see `make_verdict`.
  std::vector<std::string> warnings;  ///< Problems with the file or with its contents.

  static constexpr std::size_t holder_limit = 8;
  static constexpr std::size_t unfreed_limit = 16;
  static constexpr std::size_t line_limit = 8;
  static constexpr std::size_t failure_limit = 64;
};

struct process_watermark {
  trace::process_id process{};
  time_ns complete_until = 0;  ///< The process's device times are complete up to this time.
};

/// The metrics of a report before stacks are resolved to lines. They are everything that requires reading the events.
/// `make_report` derives the rest from these metrics, the file's tables, and the symbols available on the reading
/// machine.
struct report_metrics {
  std::uint64_t events = 0;
  std::uint64_t blocks = 0;
  std::vector<process_watermark> watermarks;  ///< Sorted by process.
  range_statistics whole;
  std::vector<memory_peak> peaks;  ///< The `lines` of these peaks are not set.
  /// Blocks live at each element of `peaks`, by stack; empty if no stacks were recorded.
  std::vector<stack_use> held;
  std::vector<unfreed_group> unfreed;
  std::vector<index::imported_memory> imports;
  /// Copies in each element of `whole.transfers`, by stack; empty if no stacks were recorded.
  std::vector<stack_use> copied;
  std::vector<failed_allocation> failures;
  std::vector<index::gpu_fault> faults;
  std::vector<fragmentation_metric> fragmentation;
  std::vector<peak_composition> compositions;
  std::vector<step_summary> steps;
  std::vector<unused_memory> unused;  ///< Grouped by stack: see `unused_memory_builder`.
  duplicate_metrics duplicates;
  std::vector<program_mark> marks;
  std::vector<std::string> warnings;              ///< Problems with the contents of the events.
  std::vector<index::recorded_message> messages;  ///< In file order.
  allocation_retries retries;
  waste_metrics waste;
  std::vector<metrics::out_of_memory> out_of_memory;  ///< At most one.
};

/// Returns the highest peak of device memory in the innermost layer, to which the shares in findings refer. Null if
/// there is no such peak.
[[nodiscard]] const memory_peak* main_peak(const report& whole_report);

/// How to resolve stacks to lines. `book` resolves native functions immediately or later, depending on `lookup`.
struct naming {
  symbols::frame_cache& book;
  symbols::frame_cache::lookup lookup = symbols::frame_cache::lookup::at_once;
  bool* provisional = nullptr;  ///< Set to true if some names are not known yet. May be null.
  /// If set, this becomes `report::grouping`. Otherwise, `most_even` chooses the grouping.
  std::optional<symbols::attribution> by{};
};

/// Makes the report on the whole recording or on `range`. The report has the peaks, failures and findings of the range,
/// and the blocks allocated in the range that were never freed. `store` must have read all of `trace`. O(events in the
/// range + blocks).
[[nodiscard]] report make_report(const index::event_store& store, const trace::snapshot& trace,
                                 std::optional<time_range> range, const naming& names);
/// Computes the metrics of a report, which is the first of two steps of making the report. `store` must have read all
/// of `trace`. O(events in the range + blocks).
[[nodiscard]] report_metrics compute_metrics(const index::event_store& store, const trace::snapshot& trace,
                                             std::optional<time_range> range = std::nullopt);
/// Makes the report from the result of `compute_metrics` for the same `trace`, which is the second step. O(stacks +
/// lines of their stacks).
[[nodiscard]] report make_report(report_metrics metrics, const trace::snapshot& trace, const naming& names);

/// Makes the report in one step, like the first `make_report`. Resolves native functions during the call.
[[nodiscard]] report make_report(const index::event_store& store, const trace::snapshot& trace,
                                 std::optional<time_range> range = std::nullopt);

/// Returns the verdict on `subject`, whose findings are complete. A pure function. O(findings + gaps + devices).
[[nodiscard]] run_verdict make_verdict(const report& subject, const trace::tables& tables);
/// Returns the findings for a report, most important first. `make_report` calls this with its `names`; without them,
/// findings do not name places.
[[nodiscard]] std::vector<finding> find_all_findings(const report& subject, const trace::tables& tables,
                                                     const naming* names = nullptr);

}  // namespace sluice::metrics
