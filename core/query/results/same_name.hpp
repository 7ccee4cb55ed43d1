#pragma once

#include "core/query/results/result_functions.hpp"

namespace sluice::query {

/// Finds the nearest event that starts after (`same_name::next`) or before (`same_name::previous`) `event` and has the
/// same name. Kernels, calls, ranges, marks and file operations have names. Instead of names, the function compares the
/// direction and device of copies, the kind of memory and the device of memsets, and the kind of waits. Sets only
/// `event` and `span` of the result. Errors: not_found. Reads the file in growing time windows, starting at the event.
/// O(events between the two).
[[nodiscard]] result<event_details> find_same_name(trace::event_id event, same_name which, const sources& source);

}  // namespace sluice::query
