#pragma once

/// Thresholds of the findings about memory that grows. Private to core/metrics. A number without
/// another source was chosen, not measured: the programs with and without faults in tests/device/faults check it.
namespace sluice::metrics {

/// Blocks that are added one after another count as growth if the additions continue for at least this share of the
/// launches and copies.
inline constexpr double grows_for = 0.4;

}  // namespace sluice::metrics
