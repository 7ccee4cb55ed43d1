#pragma once

#include <vector>

#include "core/metrics/base/naming.hpp"
#include "core/metrics/report/report.hpp"

/// Derives the findings of a report from its metrics.
namespace sluice::metrics {

/// Returns the findings for a report, most important first. `make_report` calls this with its `names`; without them,
/// findings do not name places.
[[nodiscard]] std::vector<finding> find_all_findings(const report& subject, const trace::tables& tables,
                                                     const naming* names = nullptr);

}  // namespace sluice::metrics
