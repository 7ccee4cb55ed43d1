#pragma once

namespace sluice::analysis {

/// What a value does over a short time, such as that of a pixel. Exact: minimum, maximum and mean over the time.
struct sampled_bin {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
};

}  // namespace sluice::analysis
