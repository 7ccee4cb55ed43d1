#pragma once

#include <optional>

#include "core/import/input.hpp"
#include "core/trace/model/ids.hpp"

namespace sluice::importing {

/// Finds the earliest time of any event of a Chrome trace. The event with this time may be anywhere in the file;
/// torch.profiler writes it last. Searches for "ts" and examines only times that are earlier than the earliest one so
/// far. This takes a fraction of the time of parsing. Returns nullopt if the file has no times or cannot be read.
/// Ignores metadata, times that do not belong to events, and times more than a year from the first ones. May miss the
/// time of an event longer than 4 KiB. Private to core/import.
[[nodiscard]] std::optional<trace::time_ns> find_first_time(input& source);

}  // namespace sluice::importing
