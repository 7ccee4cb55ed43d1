#pragma once

#include "core/timeline/time_tree.hpp"

namespace sluice::timeline {

/// The exact statistics of a curve over a short time span, for example the span of one pixel.
struct sampled_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  /// The value at the moment in the bin when the curve's stack (`curve_stacks`) is highest. For all curves of a stack,
  /// these values add up to the memory that was in use at that moment, which may be less than the sum of the curves'
  /// maxima. For a curve that is not in a stack, this is the same as `maximum`.
  double at_peak = 0;

  [[nodiscard]] static sampled_bin constant(double value) { return {value, value, value, value}; }
};

/// Converts the statistics of a time span (`extent`) to a bin. `at_begin`: the value of the curve at the start of the
/// span, used if the span has no length.
[[nodiscard]] inline sampled_bin sampled(const timeline::extent& part, double at_begin) {
  if (part.empty()) return sampled_bin::constant(at_begin);
  if (part.minimum == part.maximum) return sampled_bin::constant(part.minimum);
  return {part.minimum, part.maximum, part.integral / static_cast<double>(part.length), part.maximum};
}

}  // namespace sluice::timeline
