#pragma once

#include <cstdint>

/// Thresholds of the findings about copies. Private to core/metrics. A number without
/// another source was chosen, not measured: the programs with and without faults in tests/device/faults check it.
namespace sluice::metrics {

/// If one line requests fewer small copies than this (below `copy_group::small_copy`), they are not reported.
inline constexpr std::uint64_t min_small_copies = 256;

}  // namespace sluice::metrics
