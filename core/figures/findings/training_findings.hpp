#pragma once

#include <vector>

#include "core/figures/report.hpp"

namespace sluice::analysis {

/// Adds findings about tensors: what peaks consist of, memory held unused, growth. Part of `findings_of`.
void add_training_findings(const report& of, const trace::tables& tables, std::vector<finding>& into);

}  // namespace sluice::analysis
