#pragma once

#include "core/figures/check/check.hpp"
#include "core/figures/diff.hpp"
#include "core/symbols/attribution.hpp"

/// Judges a recording by an older one: no figure may be higher than the old one by more than a tolerance.
namespace sluice::analysis {

/// One of the two recordings. The stacks of `compared` are named by `names`, which needs the tables of that recording.
struct baseline_side {
  const report& of;
  const compared_figures& compared;
  const trace::tables& tables;
  symbols::frame_book& names;
};

/// Sums `before` and `after` by what their stacks are attributed to, and returns the groups that grew, most first, at
/// most `limit`. Lines are the same if their function and the name of their file are equal; their numbers may have
/// changed. O(frames of all stacks).
[[nodiscard]] std::vector<changed_part> grown_parts(const stack_use& before, const baseline_side& of_before,
                                                    const stack_use& after, const baseline_side& of_after,
                                                    symbols::attribution by, std::size_t limit);

/// Judges `now` by `before`: peak and reserved bytes of device memory, bytes copied between host and devices, and the
/// median time of a step. Reserved bytes and steps that neither has are not judged. `tolerance` is a share: with 0.03 a figure may be 3 % higher. The highest
/// of several devices or processes is compared. O(size of the reports + frames of all stacks).
[[nodiscard]] std::vector<condition> check_baseline(const baseline_side& before, const baseline_side& now,
                                                    double tolerance);

/// How many lines and modules a condition names.
inline constexpr std::size_t grown_limit = 5;

}  // namespace sluice::analysis
