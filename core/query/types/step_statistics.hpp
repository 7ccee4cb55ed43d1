#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/index/work/steps.hpp"
#include "core/metrics/comparison/comparison.hpp"

/// The statistics of each step, which is one iteration of the program's main loop. They are the `range_statistics` of
/// the step's time range.
namespace sluice::query {

using metric_unit = metrics::compared_unit;

/// The values of one statistic for all steps.
struct step_metric {
  std::string label;  ///< "peak, GPU 0, framework: device"
  metric_unit unit = metric_unit::bytes;
  /// The value for each step. NaN if the value is unknown, such as the total of a name that is not among the names with
  /// the longest totals of that step.
  std::vector<double> values;
  double median = 0;  ///< The median of the known values.
  /// The positions in `step_statistics::steps` of the steps whose values are outliers (`find_outliers`), ascending.
  std::vector<std::uint32_t> outliers;
  double absent = 0;  ///< The value for steps that do not have the metric: 0 or NaN.
};

/// A process with steps.
struct stepping_process {
  trace::process_id process{};
  std::string label;  ///< "Rank 0, python (4711)"
  std::uint64_t steps = 0;
};

struct step_statistics {
  std::vector<stepping_process> processes;  ///< The process with most steps first. Empty if there are no steps.
  trace::process_id process{};              ///< The process whose steps these are.
  index::step_source source = index::step_source::none;
  std::vector<index::step> steps;  ///< The first `step_limit` steps.
  std::uint64_t step_count = 0;    ///< The number of steps, including those beyond the limit.
  std::uint64_t measured = 0;      ///< The number of steps, from the first on, that have values.
  std::uint64_t settled = 0;  ///< The number of measured steps that new data of a growing recording no longer changes.
  std::vector<step_metric> metrics;  ///< At most `metric_limit`. The first is the duration.

  static constexpr std::size_t step_limit = 10'000;
  static constexpr std::size_t metric_limit = 256;
};

/// Returns the positions of the outliers: values that differ from the median by more than 5 % of the median, and by
/// more than 3.5 times the usual deviation. The usual deviation is 1.4826 times the median deviation or, if that is 0,
/// 1.2533 times the mean deviation (Iglewicz and Hoaglin, "How to detect and handle outliers", 1993). Sets `median`.
/// Ignores NaN. Fewer than 5 values have no outliers. O(n log n).
[[nodiscard]] std::vector<std::uint32_t> find_outliers(const std::vector<double>& values, double& median);

/// Requests every statistic of each step. O(steps * (events of a step + blocks of its sections)).
struct step_statistics_query {
  trace::process_id process{};  ///< None: the process with the most steps.
  friend bool operator==(const step_statistics_query&, const step_statistics_query&) = default;
  using result_type = step_statistics;
};

}  // namespace sluice::query
