#pragma once

#include "core/query/results/result_functions.hpp"

/// Completes the table that answers a `blocks_query`. Private to core/query.
namespace sluice::query {

/// Fills in the members `by`, `names`, `asked_by` and `steps` of `table` for its rows. `steps` is null if the recording
/// has no steps. O(rows * log steps + frames of the rows' stacks).
void complete_rows(const blocks_query& query, const sources& source, const index::step_facts* steps,
                   block_table& table);

}  // namespace sluice::query
