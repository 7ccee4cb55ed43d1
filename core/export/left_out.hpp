#pragma once

#include <span>

#include "core/export/export.hpp"

namespace sluice::exports {

/// Notes how many of the wanted events are of kinds that a format cannot hold; `held` are those that it can. Reads nothing if all of a
/// recording was wanted, otherwise O(events of those kinds). Errors: those of reading, cancelled.
[[nodiscard]] result<void> note_left_out(job& what, std::span<const trace::row_type> held);

}  // namespace sluice::exports
