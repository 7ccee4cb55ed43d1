#pragma once

#include <span>

#include "core/export/export.hpp"

namespace sluice::exports {

/// Adds a note about the number of requested events that the format cannot represent. These are the events of kinds
/// that are not in `held`. If the whole recording is exported, reads nothing. Otherwise O(events of these kinds).
/// Errors: those of reading; cancelled.
[[nodiscard]] result<void> note_left_out(job& export_job, std::span<const trace::row_type> held);

}  // namespace sluice::exports
