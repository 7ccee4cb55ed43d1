#pragma once

#include "core/query/results/result_functions.hpp"

/// Describes the purpose and the uses of blocks as text. Private to core/query.
namespace sluice::query {

/// Inserts details of a block before those in `into`: its category, the name that the program gave to it, its first and
/// last use, the number of uses, how long it was held after its last use, and the steps in which it was live.
void put_tensor_details(const index::block_record& block, const sources& source, event_details& into);

/// Appends the blocks to which a kernel's arguments point, if touches were recorded.
void put_touched_blocks(const trace::kernel_event& kernel, const sources& source, event_details& into);

}  // namespace sluice::query
