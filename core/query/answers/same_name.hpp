#pragma once

#include "core/query/answers/answer_functions.hpp"

namespace sluice::query {

/// The event nearest in time that starts after (`same_name::next`) or before (`same_name::previous`) `event` and has its
/// name: kernels, calls, ranges, marks and files by name, copies by direction and device, others by kind. Only `event`
/// and `span` of the answer are set. not_found if there is none. Reads the file from the event on, in growing
/// windows: O(events between the two).
[[nodiscard]] result<event_details> find_same_name(trace::event_id event, same_name which, const sources& from);

}  // namespace sluice::query
