#pragma once

#include "core/query/answers/answer_functions.hpp"

/// Private to core/query.
namespace sluice::query {

/// Fills in who asked for each row of `table`: `by`, `names`, `asked_by`. O(rows + frames of their stacks).
void put_asked_by(const blocks_question& question, const sources& from, block_table& table);

}  // namespace sluice::query
