#pragma once

#include "core/metrics/report/report.hpp"

namespace sluice::metrics {

/// Resolves the stacks of `metrics` (an out-of-memory error) to places, and describes the metrics in words. Private to
/// core/metrics. O(stacks).
[[nodiscard]] out_of_memory_report name_out_of_memory(out_of_memory metrics, const trace::tables& tables,
                                                      const naming& names);

}  // namespace sluice::metrics
