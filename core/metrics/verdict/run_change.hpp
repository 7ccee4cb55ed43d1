#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/time/time_range.hpp"

/// What changed from one run to another, in one line, made from the verdicts and findings of both reports. Times are in
/// ns.
namespace sluice::metrics {

struct report;

/// The change. Every number is one of the two reports', or a quotient of those, as stated here.
struct run_change {
  /// One line, such as "2.6x faster: a step 56.1 ms -> 21.5 ms, idle 39.8 ms -> 5.20 ms; peak the same (1.94 GiB); 1
  /// finding gone, 0 new." Says what is unknown on either side.
  std::string text;
  bool by_step = false;  ///< True if the times below are those of a step, because both sides have steps.
  /// The median step (`run_verdict::step`) or else the active time (`range_statistics::active`). 0 if neither is known.
  time_ns time_before = 0, time_after = 0;
  bool idle_known = false;  ///< True if both sides have kernel times.
  /// Idle time after start-up (`run_verdict::get_idle`), as a mean over devices; divided by the number of steps if
  /// `by_step`.
  time_ns idle_before = 0, idle_after = 0;
  /// Indices of the major findings that only one side has: in `report::findings` of that side.
  std::vector<std::size_t> gone, fresh;

  /// Times and peaks that differ by at most this share are called the same, because runs differ by about as much.
  static constexpr double same = 0.02;
};

/// Compares two reports, whose verdicts are complete. Findings are the same if they have the same kind, function and
/// file; lines may move. A finding that remains as a smaller one is gone only if it saves less than half of what it did.
/// A pure function. O(findings of both sides, multiplied).
[[nodiscard]] run_change compare_runs(const report& before, const report& after);

}  // namespace sluice::metrics
