#pragma once

#include <span>

#include "core/export/export.hpp"

namespace sluice::exports {

/// Notes how many requested events are of kinds that a format cannot hold; `held` lists the kinds it can. Reads nothing
/// if the whole recording was requested, else O(events of those kinds). Errors: those of reading, cancelled.
[[nodiscard]] result<void> note_left_out(job& what, std::span<const trace::row_type> held);

}  // namespace sluice::exports
