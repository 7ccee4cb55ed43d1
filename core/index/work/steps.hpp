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

/// The steps of a program that repeats its work, such as a training loop.
namespace sluice::index {

/// How the steps were found, from the most reliable way to the least reliable. Steps found by `pattern` are a guess and
/// must be shown as inferred.
enum class step_source : std::uint8_t { none, marks, profiler_ranges, named_ranges, pattern };

/// One step of a process.
struct step {
  time_range span;
  std::int64_t number = 0;  ///< The number that the program assigned to the step, or else its position, counted from 0.
  trace::event_id event{};  ///< The marker or range that marks the step; none if the step is inferred.
};

/// Converts a step stored in a file. `row` may be corrupt, so its times are clamped.
[[nodiscard]] step get_step(const trace::step_row& row);

/// The steps of one process, in order of time and without overlap.
struct step_list {
  step_source source = step_source::none;
  std::vector<step> steps;
  [[nodiscard]] bool inferred() const { return source == step_source::pattern; }
  /// Returns the number of steps that start in (from, to]. O(log n).
  [[nodiscard]] std::size_t begun_between(time_ns begin, time_ns to) const;
  /// Returns the step that contains `time`; null if `time` is between steps. O(log n).
  [[nodiscard]] const step* at(time_ns time) const;
};

/// The steps of a process, with its id.
struct process_steps {
  trace::process_id process{};
  step_list steps;
};

/// The maximum number of kernels of one process that `find_kernel_pattern` examines.
inline constexpr std::size_t max_pattern_kernels = std::size_t{1} << 15;
/// The maximum number of kernel start times that are kept per process. If a process runs more kernels, a sample is
/// kept.
inline constexpr std::size_t max_sampled_kernels = std::size_t{1} << 14;

/// The start of a kernel's execution.
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

/// Collects a program's own marks of its steps, in any order of time. A step is marked by a numbered mark, by a range
/// named "ProfilerStep#7" (torch.profiler), or by a range named "step", "iteration" or "train_step", with or without a
/// number (NVTX). A single torch.profiler range is a step if it contains half of the process's kernels. Other ranges
/// are steps only if there are at least two. torch.profiler ranges on the device's timeline count only in processes
/// that have no steps from marks or host ranges.
class step_marks {
 public:
  void add(const trace::graph_launch_event& row) { launches_[row.process].push_back({bounded(row.time), row.graph}); }
  void add(const trace::marker_event& row);
  void add(const trace::host_range_event& row, const trace::tables& tables);

  /// Returns the steps that marks define, or else the steps that ranges define. A range that overlaps an earlier range
  /// is ignored. A mark starts a step that lasts until the next mark, and the last step lasts until `end`, the end of
  /// the recording.
  [[nodiscard]] step_list of(trace::process_id process, time_ns end) const;
  [[nodiscard]] std::vector<trace::process_id> processes() const;
  /// True if the process has marked steps so far, so that `of` returns steps.
  [[nodiscard]] bool tells_steps_of(trace::process_id process) const;
  void add(const trace::kernel_event& row);
  /// Returns the latest kernels of a process, in order of time. There are at most `max_pattern_kernels`, and fewer if
  /// the recording has many processes.
  [[nodiscard]] std::vector<kernel_start> list_kernels(trace::process_id process) const;
  /// Returns the start times of a process's kernels, in order. If there are too many kernels, only the times of every
  /// second, fourth, ... kernel are returned.
  [[nodiscard]] std::vector<time_ns> find_kernel_times(trace::process_id process) const;
  /// Returns the graph launches of a process at or after `begin`, in order of time. O(launches + found * log found).
  [[nodiscard]] std::vector<graph_launch> find_launches(trace::process_id process, time_ns begin = -latest_time) const;

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
    // Ranges that torch.profiler shows on the device's timeline.
    std::vector<step_range> profiler_on_device;
    std::vector<step_range> named_on_device;
  };
  struct meaning {
    step_source source = step_source::none;
    std::optional<std::int64_t> number;
  };
  /// True if at least half of the process's kernels start during the step or soon after it (devices run behind the
  /// host). Also true if the process has no kernels.
  [[nodiscard]] bool holds_work(const step& only, trace::process_id process) const;
  static step_list nested_away(std::vector<step_range> ranges, step_source source);
  static meaning find_meaning(std::string_view name);

  std::map<trace::process_id, process_marks> by_process_;
  std::map<trace::process_id, std::vector<graph_launch>> launches_;
  struct latest_kernels {
    std::vector<kernel_start> all;
    std::vector<time_ns> times;  ///< Start times of every `stride`-th kernel.
    std::uint64_t seen = 0, stride = 1;
    void sample(time_ns time);
    void keep_latest(std::size_t most, std::size_t& kept);
  };
  static constexpr std::size_t max_kernels_of_all = std::size_t{1} << 20;
  std::map<trace::process_id, latest_kernels> kernels_;
  std::size_t kernels_kept_ = 0;
  std::size_t max_kernels_ = max_pattern_kernels;
  std::map<trace::string_id, meaning> names_;
  std::map<trace::string_id, bool> device_domains_;  ///< Keyed by NVTX domain: whether its ranges are on the device's
                                                     ///< timeline.
};

/// Steps are inferred from the blocks of one layer, which is the first of these layers with at least
/// `min_pattern_blocks` blocks.
inline constexpr trace::layer pattern_layers[] = {trace::layer::framework, trace::layer::pool, trace::layer::user,
                                                  trace::layer::driver};
inline constexpr std::size_t min_pattern_blocks = 16;

/// Infers steps from the pattern of allocations. A pattern is a sequence of sizes and stacks that occurs at least three
/// times, with nine out of ten allocations equal. `blocks` are the blocks of one process and layer, in order of
/// allocation. A step starts where the least memory is in use. Known errors: a program whose shapes change in each step
/// has no such pattern, and a program that repeats its work within a step may be divided within its steps. O(n).
[[nodiscard]] step_list find_pattern(std::span<const block_record* const> blocks, time_ns end);

/// Infers steps from the pattern of kernel names, for programs that allocate nothing in their loop. The first step
/// starts where the sequence of names begins to repeat. If that is unclear, steps start after the longest pause between
/// the kernels of a period. O(n).
[[nodiscard]] step_list find_kernel_pattern(std::span<const kernel_start> kernels, time_ns end);

}  // namespace sluice::index
