#pragma once

#include "core/query/results/result_functions.hpp"

namespace sluice::query {

/// Finds the nearest event that starts after (`same_name::next`) or before (`same_name::previous`) `event` and has the
/// same name. Instead of names, compares the direction and device of copies, and only the kind of events that are not
/// kernels, calls, ranges, marks or files. Sets only `event` and `span` of the result. Errors: not_found. Reads the
/// file from the event on, in growing windows: O(events between the two).
[[nodiscard]] result<event_details> find_same_name(trace::event_id event, same_name which, const sources& from);

}  // namespace sluice::query
