#pragma once

#include "core/timeline/time_tree.hpp"

namespace sluice::analysis {

/// What a value does over a short time, such as that of a pixel. Exact: minimum, maximum and mean over the time.
struct sampled_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
};

/// Of a part of a curve; `at_begin`: its value there, which is all there is of a part without length.
[[nodiscard]] inline sampled_bin sampled(const timeline::extent& part, double at_begin) {
  if (part.empty()) return {at_begin, at_begin, at_begin};
  if (part.minimum == part.maximum) return {part.minimum, part.minimum, part.minimum};
  return {part.minimum, part.maximum, part.integral / static_cast<double>(part.length)};
}

}  // namespace sluice::analysis
