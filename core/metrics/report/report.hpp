#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/index/memory/faults.hpp"
#include "core/index/memory/shared_memory.hpp"
#include "core/index/recorded_message.hpp"
#include "core/metrics/base/attribution_choice.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/base/member_list.hpp"
#include "core/metrics/base/memory_peak.hpp"
#include "core/metrics/base/naming.hpp"
#include "core/metrics/base/stack_use.hpp"
#include "core/metrics/idle/idle_gaps.hpp"
#include "core/metrics/out_of_memory/out_of_memory.hpp"
#include "core/metrics/report/finding.hpp"
#include "core/metrics/report/run_verdict.hpp"
#include "core/metrics/report/waste/waste.hpp"
#include "core/metrics/statistics/allocation_retries.hpp"
#include "core/metrics/statistics/duplicates.hpp"
#include "core/metrics/statistics/fragmentation.hpp"
#include "core/metrics/statistics/memory_at_marks.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/metrics/statistics/tensor_report.hpp"
#include "core/metrics/statistics/unfreed.hpp"
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

/// Copies of one direction on one device, by program line. The lines for which the device waited longest come first,
/// then the lines with the longest duration.
struct copying_lines {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  bool kernels_known = false;  ///< False if it is unknown for which copies the device waited.
  line_uses uses;
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
SLUICE_MEMBERS(failed_allocation, member<&row::event>{"event", "The failed call"},
               member<&row::time>{"time_ns", "Time when it returned", moment},
               member<&row::process>{"process", "Whose"}, member<&row::device>{"device", "Null: host memory"},
               member<&row::layer>{"layer", "driver, pool, framework or user"},
               member<&row::kind>{"kind", "The kind of memory"}, member<&row::call>{"call", "The API function"},
               member<&row::bytes>{"bytes", "Requested size"}, member<&row::error>{"error", "The API's code"})

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

}  // namespace sluice::metrics
