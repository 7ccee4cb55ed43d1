#pragma once

#include "core/figures/out_of_memory/block_uses.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::analysis {

/// Finds the cheapest changes with which the allocation would have fit, and sets `changes` and `only_together`. Nothing is
/// claimed that was not checked: on the memory's layout, or by replaying. Private to core/figures.
void find_remedies(const trace::alloc_failed_event& failed, const memory_at_failure& at, const block_uses& uses,
                   const index& from, const trace::snapshot& trace, out_of_memory& into);

}  // namespace sluice::analysis
