#pragma once

#include "core/timeline/time_tree.hpp"

namespace sluice::analysis {

/// Minimum, maximum and mean of a curve over a short time span, for example that of one pixel. Exact.
struct sampled_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
};

/// Converts an extent to a bin. `at_begin`: the curve's value at the begin of the span, used if the span has no length.
[[nodiscard]] inline sampled_bin sampled(const timeline::extent& part, double at_begin) {
  if (part.empty()) return {at_begin, at_begin, at_begin};
  if (part.minimum == part.maximum) return {part.minimum, part.minimum, part.minimum};
  return {part.minimum, part.maximum, part.integral / static_cast<double>(part.length)};
}

}  // namespace sluice::analysis
