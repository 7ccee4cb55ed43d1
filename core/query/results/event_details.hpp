#pragma once

#include "core/query/results/result_functions.hpp"

/// Parts of the results that describe events and blocks as text. Private to core/query.
namespace sluice::query {

/// Finds the nearest event that starts after (`same_name::next`) or before (`same_name::previous`) `event` and has the
/// same name. Kernels, calls, ranges, marks and file operations have names. Instead of names, the function compares the
/// direction and device of copies, the kind of memory and the device of memsets, and the kind of waits. Sets only
/// `event` and `span` of the result. Errors: not_found. Reads the file in growing time windows, starting at the event.
/// O(events between the two).
[[nodiscard]] result<event_details> find_same_name(trace::event_id event, same_name which, const sources& source);

/// Inserts details of a block before those in `into`: its category, the name that the program gave to it, its first and
/// last use, the number of uses, how long it was held after its last use, and the steps in which it was live.
void put_tensor_details(const index::block_record& block, const sources& source, event_details& into);

/// Appends the blocks to which a kernel's arguments point, if touches were recorded.
void put_touched_blocks(const trace::kernel_event& kernel, const sources& source, event_details& into);

}  // namespace sluice::query
