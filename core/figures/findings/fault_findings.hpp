#pragma once

#include <vector>

#include "core/figures/report.hpp"

namespace sluice::analysis {

/// Adds findings about each GPU fault: the call that reported it, the work enqueued before. Part of `findings_of`.
void add_fault_findings(const report& of, const trace::tables& tables, std::vector<finding>& into);

}  // namespace sluice::analysis
