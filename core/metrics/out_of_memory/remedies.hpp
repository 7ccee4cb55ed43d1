#pragma once

#include "core/metrics/out_of_memory/block_uses.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::metrics {

/// Finds the cheapest changes with which a failed allocation would have fit, and sets `changes` and `only_together` of
/// `into`. Checks every change on the memory layout or by a replay. Private to core/metrics.
void find_remedies(const trace::alloc_failed_event& failed, const memory_at_failure& at, const block_uses& uses,
                   const index::event_store& store, const trace::snapshot& trace, out_of_memory& into);

}  // namespace sluice::metrics
