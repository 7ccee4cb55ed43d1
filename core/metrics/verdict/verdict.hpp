#pragma once

#include "core/metrics/report/report.hpp"

namespace sluice::metrics {

/// Returns the verdict on `subject`, whose findings are complete. A pure function. O(findings + gaps + devices).
[[nodiscard]] run_verdict make_verdict(const report& subject, const trace::tables& tables);

}  // namespace sluice::metrics
