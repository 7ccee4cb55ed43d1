#pragma once

/// Thresholds of the finding about FP32 products. Private to core/metrics. A number without
/// another source was chosen, not measured: the programs with and without faults in tests/device/faults check it.
namespace sluice::metrics {

/// Matrix products in FP32 are reported if they take at least this share of a device's busy time.
inline constexpr double reported_products_share = 0.05;

}  // namespace sluice::metrics
