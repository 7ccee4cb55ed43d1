#pragma once

#include "core/query/answers/answer_functions.hpp"

/// Describes in words what blocks are for and how they are used. Private to core/query.
namespace sluice::query {

/// Inserts before the details in `into`: category, the program's name for the block, first and last use, number of
/// uses, how long it was held after the last use, and the steps it lived in.
void put_tensor_details(const analysis::block_record& block, const sources& from, event_details& into);

/// Appends the blocks among a kernel's arguments, if touches were recorded.
void put_touched_blocks(const trace::kernel_event& kernel, const sources& from, event_details& into);

}  // namespace sluice::query
