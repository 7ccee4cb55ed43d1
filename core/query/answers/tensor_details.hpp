#pragma once

#include "core/query/answers/answer_functions.hpp"

/// What blocks are for and who used them, in words. Private to core/query.
namespace sluice::query {

/// Puts before `into`'s own details: the category, the name that the program gave, the first and the last use, how often,
/// how long it was held after that, and the steps it lived in.
void put_tensor_details(const analysis::block_record& block, const sources& from, event_details& into);

/// Appends the blocks that a kernel names in its arguments, as far as touches were recorded.
void put_touched_blocks(const trace::kernel_event& kernel, const sources& from, event_details& into);

}  // namespace sluice::query
