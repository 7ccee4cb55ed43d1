#pragma once

#include "core/timeline/time_tree.hpp"

namespace sluice::analysis {

/// A curve over a short time span, for example that of one pixel. Exact.
struct sampled_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  /// The value at the moment in the bin at which the curve's stack is highest (`curve_stacks`). The values of a stack's
  /// curves add up to what was really in use then, which is less than the sum of their maxima. Equals `maximum` for a
  /// curve that is in no stack.
  double at_peak = 0;

  [[nodiscard]] static sampled_bin constant(double value) { return {value, value, value, value}; }
};

/// Converts an extent to a bin. `at_begin`: the curve's value at the begin of the span, used if the span has no length.
[[nodiscard]] inline sampled_bin sampled(const timeline::extent& part, double at_begin) {
  if (part.empty()) return sampled_bin::constant(at_begin);
  if (part.minimum == part.maximum) return sampled_bin::constant(part.minimum);
  return {part.minimum, part.maximum, part.integral / static_cast<double>(part.length), part.maximum};
}

}  // namespace sluice::analysis
