#pragma once

#include "core/analysis/summary.hpp"

/// Which lines hold memory at its peaks, and for which copies devices wait. Private to core/analysis.
namespace sluice::analysis {

class index;

/// Fills in `memory_peak::lines` and `summary::copying`. O(blocks + copies + lines of their stacks).
void put_lines(const index& from, const trace::tables& tables, const naming& names, summary& into);

}  // namespace sluice::analysis
