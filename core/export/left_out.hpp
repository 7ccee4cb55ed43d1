#pragma once

#include <span>

#include "core/export/export.hpp"

namespace sluice::exports {

/// Adds a note about the number of requested events that the format cannot represent: those of kinds not in `held`. If
/// the whole recording is exported, reads nothing; otherwise O(events of those kinds). Errors: those of reading;
/// cancelled.
[[nodiscard]] result<void> note_left_out(job& what, std::span<const trace::row_type> held);

}  // namespace sluice::exports
