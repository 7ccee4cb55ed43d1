#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/figures/comparison/comparison.hpp"
#include "core/index/work/steps.hpp"

/// The statistics of each step: those of `range_statistics`, of the step's time.
namespace sluice::query {

using figure_unit = analysis::compared_unit;

/// One statistic, of all steps.
struct step_figure {
  std::string label;  ///< "peak, GPU 0, framework: device"
  figure_unit unit = figure_unit::bytes;
  /// For each step. Not a number where it is not known, as the total of a name that is not among the step's longest.
  std::vector<double> values;
  double median = 0;  ///< Of the known values.
  /// Positions in `step_statistics::steps`, in order: see `outliers_of`.
  std::vector<std::uint32_t> outliers;
  double absent = 0;  ///< The value of steps that do not have the figure: 0, or not a number.
};

/// A process with steps.
struct stepping_process {
  trace::process_id process{};
  std::string label;  ///< "Rank 0, python (4711)"
  std::uint64_t steps = 0;
};

struct step_statistics {
  std::vector<stepping_process> processes;  ///< Most steps first. None: the recording has no steps.
  trace::process_id process{};              ///< Whose steps these are.
  analysis::step_source source = analysis::step_source::none;
  std::vector<analysis::step> steps;  ///< The first `step_limit`.
  std::uint64_t step_count = 0;       ///< Also those beyond the limit.
  std::uint64_t measured = 0;         ///< The first so many steps have values.
  std::uint64_t settled = 0;          ///< Of them, the first that nothing changes which a growing recording still adds.
  std::vector<step_figure> figures;   ///< At most `figure_limit`. The first is the duration.

  static constexpr std::size_t step_limit = 10'000;
  static constexpr std::size_t figure_limit = 256;
};

/// Asks for every statistic of each step. O(steps * (events of a step + blocks of its sections)).
struct step_statistics_question {
  trace::process_id process{};  ///< None: the process with most steps.
  friend bool operator==(const step_statistics_question&, const step_statistics_question&) = default;
  using answer_type = step_statistics;
};

/// Positions of values that differ from the median by more than 5 % of it, and by more than 3.5 times the usual
/// deviation: 1.4826 times the median deviation, or if that is 0, 1.2533 times the mean deviation (Iglewicz and Hoaglin,
/// "How to detect and handle outliers", 1993). None among fewer than 5 values. Values that are not numbers are left out.
/// O(n log n).
[[nodiscard]] std::vector<std::uint32_t> outliers_of(const std::vector<double>& values, double& median);

}  // namespace sluice::query
