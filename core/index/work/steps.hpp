#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/summary_rows.hpp"
#include "core/trace/model/tables.hpp"

/// The steps of a program that repeats itself, as a training does.
namespace sluice::analysis {

/// How the steps were found, the best first. `pattern` is a guess of ours and has to be called inferred.
enum class step_source : std::uint8_t { none, marks, profiler_ranges, named_ranges, pattern };

struct step {
  time_range span;
  std::int64_t number = 0;  ///< As the program says, else counted from 0.
  trace::event_id event{};  ///< The mark or range; none when inferred.
};

/// As a file keeps it. The row may be hostile.
[[nodiscard]] step step_of(const trace::step_row& row);

/// The steps of one process, in order of time; none overlap.
struct step_list {
  step_source source = step_source::none;
  std::vector<step> steps;
  [[nodiscard]] bool inferred() const { return source == step_source::pattern; }
  /// How many steps begin in (from, to]. O(log n).
  [[nodiscard]] std::size_t begun_between(time_ns from, time_ns to) const;
  /// The step that `time` lies in; null between steps. O(log n).
  [[nodiscard]] const step* at(time_ns time) const;
};

struct process_steps {
  trace::process_id process{};
  step_list steps;
};

/// Takes what a program says about its steps, in any order of time: marks with a number, ranges called "ProfilerStep#7"
/// (torch.profiler), and ranges called "step", "iteration", "train_step", with or without a number (NVTX). What torch.profiler says of
/// the same steps on the device counts only where the host says nothing.
class step_marks {
 public:
  void add(const trace::marker_event& row);
  void add(const trace::host_range_event& row, const trace::tables& tables);

  /// The steps that marks or ranges of `process` tell, marks first. A mark begins a step that lasts until the next; the
  /// last one ends with the recording, at `end`. Ranges count where at least two do not lie in one another.
  [[nodiscard]] step_list of(trace::process_id process, time_ns end) const;
  [[nodiscard]] std::vector<trace::process_id> processes() const;

 private:
  struct told {
    time_range span;
    std::optional<std::int64_t> number;
    trace::event_id event{};
  };
  struct process_marks {
    std::vector<told> marks;
    std::vector<told> profiler;
    std::vector<told> named;
    std::vector<told> on_device;  ///< What a device did of them, where torch.profiler says that too.
  };
  struct meaning {
    step_source source = step_source::none;
    std::optional<std::int64_t> number;
  };
  static step_list nested_away(std::vector<told> ranges, step_source source);
  static meaning meaning_of(std::string_view name);

  std::map<trace::process_id, process_marks> by_process_;
  std::map<trace::string_id, meaning> names_;
  std::map<trace::string_id, bool> device_domains_;  ///< Whether a domain is that of the device's annotations.
};

/// What `find_pattern` looks at of more blocks: the last ones.
inline constexpr std::size_t most_pattern_blocks = 200'000;
/// The blocks whose births tell a process' steps are those of the first of these layers that has enough of them.
inline constexpr trace::layer telling_layers[] = {trace::layer::framework, trace::layer::pool, trace::layer::user,
                                                  trace::layer::driver};
inline constexpr std::size_t least_telling_blocks = 16;

/// The steps that the pattern of allocations shows: a sequence of sizes and stacks that comes again and again, at least
/// three times, nine allocations in ten the same. `blocks` are those of one process and one layer in order of birth. A step
/// begins where the least is in use. Known errors: a program whose shapes change from step to step has no such pattern; one
/// that repeats several times inside a step may be cut into the repeats. O(n) for at most `most_pattern_blocks`.
[[nodiscard]] step_list find_pattern(std::span<const block_record* const> blocks, time_ns end);

}  // namespace sluice::analysis
