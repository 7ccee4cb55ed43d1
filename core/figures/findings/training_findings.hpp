#pragma once

#include <vector>

#include "core/figures/report.hpp"

namespace sluice::analysis {

/// Hints about tensors: what the peak is made of, what is kept without use, what grows. Part of `findings_of`.
void add_training_findings(const report& of, const trace::tables& tables, std::vector<finding>& into);

}  // namespace sluice::analysis
