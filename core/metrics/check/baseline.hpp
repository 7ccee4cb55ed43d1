#pragma once

#include "core/metrics/check/check.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/symbols/attribution.hpp"

/// Checks a recording against an older recording: no metric may exceed its old value by more than a tolerance.
namespace sluice::metrics {

/// One of the two recordings. `names` resolves the stacks of `compared` to lines, with the tables of the same
/// recording.
struct baseline_side {
  const report& whole;
  const compared_metrics& compared;
  const trace::tables& tables;
  symbols::frame_cache& names;
};

/// Sums `before` and `after` by the attribution of their stacks. Returns the groups that grew, largest growth first, at
/// most `limit`. Two lines are the same if they have the same function and file name. Their line numbers may differ.
/// O(frames of all stacks).
[[nodiscard]] std::vector<changed_part> grown_parts(const stack_use& before, const baseline_side& of_before,
                                                    const stack_use& after, const baseline_side& of_after,
                                                    symbols::attribution by, std::size_t limit);

/// Compares `now` with `before`: peak and reserved bytes of device memory, bytes copied between host and devices, and
/// the median step time. Reserved bytes and steps are skipped if neither recording has them. `tolerance` is a share:
/// with 0.03 a metric may be 3 % higher than before. If there are several devices or processes, their highest values
/// are compared. O(size of the reports + frames of all stacks).
[[nodiscard]] std::vector<condition> check_baseline(const baseline_side& before, const baseline_side& now,
                                                    double tolerance);

/// A condition lists at most this many lines, and at most this many modules.
inline constexpr std::size_t grown_limit = 5;

}  // namespace sluice::metrics
