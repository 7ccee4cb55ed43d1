#pragma once

#include "core/base/time/time_range.hpp"

/// Thresholds of the findings about an idle GPU. Private to core/metrics. A number without
/// another source was chosen, not measured: the programs with and without faults in tests/device/faults check it.
namespace sluice::metrics {

/// If the gaps that a line of host code causes are shorter than this on average (ns), their finding is a note.
inline constexpr time_ns short_host_gap = 1'000'000;

}  // namespace sluice::metrics
