#pragma once

#include "core/query/answers/answer_functions.hpp"

/// Private to core/query.
namespace sluice::query {

/// Fills in what is said of the rows of `table` beyond the rows: `by`, `names`, `asked_by`, `steps`. O(rows * log steps +
/// frames of their stacks). `steps` null: none are known.
void complete_rows(const blocks_question& question, const sources& from, const analysis::step_facts* steps,
                   block_table& table);

}  // namespace sluice::query
