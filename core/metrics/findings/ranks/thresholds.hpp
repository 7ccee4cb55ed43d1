#pragma once

/// Thresholds of the findings about ranks. Private to core/metrics. A number without
/// another source was chosen, not measured: the programs with and without faults in tests/device/faults check it.
namespace sluice::metrics {

/// A rank is named if the others wait for its late host for at least this share of the active time, although its
/// kernels take no longer. Less than `imbalanced` suffices, because these waits are one-sided and at least
/// `rank_metrics::late_host` long, so that they are not the jitter of hosts.
inline constexpr double awaited_host_share = 0.01;
/// A rank is an outlier if its peak exceeds the median of the other ranks by this share of its peak.
inline constexpr double imbalanced = 0.1;

}  // namespace sluice::metrics
