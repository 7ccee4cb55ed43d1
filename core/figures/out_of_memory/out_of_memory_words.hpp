#pragma once

#include "core/figures/report.hpp"

namespace sluice::analysis {

/// Names the stacks of `figures` and puts it in words. Private to core/figures. O(stacks).
[[nodiscard]] out_of_memory_report name_out_of_memory(out_of_memory figures, const trace::tables& tables,
                                                      const naming& names);

}  // namespace sluice::analysis
