#pragma once

#include <vector>

#include "core/figures/report.hpp"

namespace sluice::analysis {

/// Adds findings about GPU faults: which call saw it, and what was enqueued last before it. Part of `findings_of`.
void add_fault_findings(const report& of, const trace::tables& tables, std::vector<finding>& into);

}  // namespace sluice::analysis
