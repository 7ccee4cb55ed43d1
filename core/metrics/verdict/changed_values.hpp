#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/metrics/comparison/comparison.hpp"
#include "core/metrics/verdict/run_change.hpp"

/// What changed from one run to another, as rows of tables: `sluice diff` prints them and the window draws them.
namespace sluice::metrics {

/// A value of both runs.
struct changed_value {
  std::string what;   ///< "Idle: data loader", "Peak", a kernel's name.
  std::string where;  ///< A line such as "loop.py:31 (main)", or a remark such as "12 -> 4 runs"; may be empty.
  compared_unit unit = compared_unit::time;
  std::optional<double> before, after;  ///< In ns or bytes, or a count. None: unknown on that side.
  bool less_is_better = true;           ///< False: whether a change is good is unknown.
  /// The change as a share (-1..1) of the larger of the two wholes: a step or the active time, or the peak.
  double share = 0;

  [[nodiscard]] bool differs() const { return before != after; }
  [[nodiscard]] double change() const { return after.value_or(0) - before.value_or(0); }
  /// `open` if a side is unknown.
  [[nodiscard]] change_trend trend() const;
};

/// The rows. Times are those of a mean device, per step if `run_change::by_step`, else in total.
struct changed_values {
  /// The time of a step or the active time, idle time by cause, kernels, copies, peaks. Values that differ come first,
  /// those with the largest share first.
  std::vector<changed_value> main;
  std::vector<changed_value> steps;    ///< The duration of each step that both reports list, in order.
  std::vector<changed_value> kernels;  ///< By name, the largest change first.
  std::vector<changed_value> copies;   ///< Time and bytes, by device and direction.
};

/// A report, and the names in its recording. Both must outlive the call.
struct named_report {
  const report& subject;
  const trace::tables& tables;
};

/// Lists the values of both runs. `change` is that of `compare_runs` for the two reports. O(causes + steps + kernels).
[[nodiscard]] changed_values list_changed_values(const named_report& before, const named_report& after,
                                                 const run_change& change);

/// Returns the value as text, such as "39.8 ms" or "1.94 GiB"; "unknown" for none.
[[nodiscard]] std::string format_value(compared_unit unit, const std::optional<double>& value);

/// Returns the difference as text with a sign, such as "-34.6 ms", "+64.0 MiB", "0" or "unknown".
[[nodiscard]] std::string format_difference(const changed_value& value);

}  // namespace sluice::metrics
