#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/summary_rows.hpp"
#include "core/trace/model/tables.hpp"

/// The steps of a program that repeats itself, such as a training loop.
namespace sluice::analysis {

/// How the steps were found, the most reliable way first. `pattern` is a guess and must be shown as inferred.
enum class step_source : std::uint8_t { none, marks, profiler_ranges, named_ranges, pattern };

struct step {
  time_range span;
  std::int64_t number = 0;  ///< Number given by the program, else counted from 0.
  trace::event_id event{};  ///< The marker or range that names the step; none if inferred.
};

/// Converts a step stored in a file. `row` may be corrupt: times are clamped.
[[nodiscard]] step step_of(const trace::step_row& row);

/// The steps of one process, in order of time and without overlap.
struct step_list {
  step_source source = step_source::none;
  std::vector<step> steps;
  [[nodiscard]] bool inferred() const { return source == step_source::pattern; }
  /// The number of steps that begin in (from, to]. O(log n).
  [[nodiscard]] std::size_t begun_between(time_ns from, time_ns to) const;
  /// The step that contains `time`; null between steps. O(log n).
  [[nodiscard]] const step* at(time_ns time) const;
};

struct process_steps {
  trace::process_id process{};
  step_list steps;
};

/// The most kernels of a process that `find_kernel_pattern` looks at.
inline constexpr std::size_t most_pattern_kernels = std::size_t{1} << 15;
/// The most kernels of a process of whose times a sample is kept.
inline constexpr std::size_t most_sampled_kernels = std::size_t{1} << 14;

/// The begin of a kernel.
struct kernel_start {
  time_ns time = 0;
  trace::event_id event{};
  trace::string_id name{};
  friend bool operator<(const kernel_start& a, const kernel_start& b) {
    return std::tie(a.time, a.event) < std::tie(b.time, b.event);
  }
};

/// A launch of a CUDA graph.
struct graph_launch {
  time_ns time = 0;
  trace::graph_id graph{};
};

/// Collects what a program says about its steps, in any order of time: numbered marks, ranges named "ProfilerStep#7"
/// (torch.profiler), and ranges named "step", "iteration", "train_step", with or without a number (NVTX). One range of
/// torch.profiler is a step if it holds half of the process's kernels; of the others there must be two. Ranges of
/// torch.profiler on the device's timeline count only in processes that have no steps by marks or host ranges.
class step_marks {
 public:
  void add(const trace::graph_launch_event& row) { launches_[row.process].push_back({bounded(row.time), row.graph}); }
  void add(const trace::marker_event& row);
  void add(const trace::host_range_event& row, const trace::tables& tables);

  /// Returns the steps given by marks, else by ranges, leaving out ranges that overlap an earlier range. A
  /// mark begins a step that lasts until the next mark; the last step lasts until `end`, the end of the recording.
  [[nodiscard]] step_list of(trace::process_id process, time_ns end) const;
  [[nodiscard]] std::vector<trace::process_id> processes() const;
  /// True if the process has said so far when steps begin: then `of` finds some.
  [[nodiscard]] bool tells_steps_of(trace::process_id process) const;
  void add(const trace::kernel_event& row);
  /// The latest kernels of a process, in order of time: at most `most_pattern_kernels`, fewer if there are many processes.
  [[nodiscard]] std::vector<kernel_start> kernels_of(trace::process_id process) const;
  /// When kernels of a process began, in order: of all, or evenly of every second, fourth, ..., once they are many.
  [[nodiscard]] std::vector<time_ns> kernel_times_of(trace::process_id process) const;
  /// The graph launches of a process at `from` or later, in order of time. O(launches + found * log found).
  [[nodiscard]] std::vector<graph_launch> launches_of(trace::process_id process, time_ns from = -latest_time) const;

 private:
  struct step_range {
    time_range span;
    std::optional<std::int64_t> number;
    trace::event_id event{};
  };
  struct process_marks {
    std::vector<step_range> marks;
    std::vector<step_range> profiler;
    std::vector<step_range> named;
    // Those that torch.profiler shows on the device's timeline:
    std::vector<step_range> profiler_on_device;
    std::vector<step_range> named_on_device;
  };
  struct meaning {
    step_source source = step_source::none;
    std::optional<std::int64_t> number;
  };
  /// True if half of the process's kernels, or all of none, begin in the step or soon after it, as devices run late.
  [[nodiscard]] bool holds_work(const step& only, trace::process_id process) const;
  static step_list nested_away(std::vector<step_range> ranges, step_source source);
  static meaning meaning_of(std::string_view name);

  std::map<trace::process_id, process_marks> by_process_;
  std::map<trace::process_id, std::vector<graph_launch>> launches_;
  struct latest_kernels {
    std::vector<kernel_start> all;
    std::vector<time_ns> times;  ///< Of every `stride`-th kernel.
    std::uint64_t seen = 0, stride = 1;
    void sample(time_ns time);
    void keep_latest(std::size_t most, std::size_t& kept);
  };
  static constexpr std::size_t most_kernels_of_all = std::size_t{1} << 20;
  std::map<trace::process_id, latest_kernels> kernels_;
  std::size_t kernels_kept_ = 0;
  std::size_t most_kernels_ = most_pattern_kernels;
  std::map<trace::string_id, meaning> names_;
  std::map<trace::string_id, bool> device_domains_;  ///< By NVTX domain: ranges are on the device's timeline.
};

/// Steps are inferred from the blocks of the first of these layers that has `least_blocks_for_pattern` blocks.
inline constexpr trace::layer pattern_layers[] = {trace::layer::framework, trace::layer::pool, trace::layer::user,
                                                  trace::layer::driver};
inline constexpr std::size_t least_pattern_blocks = 16;

/// Infers steps from the pattern of allocations: a sequence of sizes and stacks that occurs at least three times, with
/// nine in ten allocations equal. `blocks` are those of one process and layer, in order of birth. A step begins where
/// the least memory is in use. Known errors: a program whose shapes change each step has no such pattern; one that
/// repeats itself within a step may be cut there. O(n).
[[nodiscard]] step_list find_pattern(std::span<const block_record* const> blocks, time_ns end);

/// Infers steps from the pattern of kernels' names, for programs that allocate nothing in their loop. The first step
/// begins where the sequence starts to repeat itself; if that cannot be told, steps begin after the longest pause between
/// the kernels of a period. O(n).
[[nodiscard]] step_list find_kernel_pattern(std::span<const kernel_start> kernels, time_ns end);

}  // namespace sluice::analysis
