#pragma once

#include <map>

#include "core/metrics/base/line_namer.hpp"
#include "core/metrics/report/report.hpp"

/// Finds the program lines that hold memory at its peaks, and the lines whose copies the device waited for. Private to
/// core.
namespace sluice::metrics {

/// Sets `memory_peak::lines`, `memory_peak::asked_by`, `report::grouping` and `report::copying` of `into`. O(stacks +
/// lines of their stacks).
void put_lines(const report_metrics& metrics, const trace::tables& tables, const naming& names, report& into);

}  // namespace sluice::metrics
