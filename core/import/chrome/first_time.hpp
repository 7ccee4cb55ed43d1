#pragma once

#include <optional>

#include "core/import/input.hpp"
#include "core/trace/model/ids.hpp"

namespace sluice::importing {

/// Finds the earliest time of any event of a Chrome trace. That event may be anywhere in the file; torch.profiler
/// writes it last. Searches for "ts" and examines only times earlier than the earliest so far, which takes a fraction
/// of the time of parsing. Returns nullopt if there is no such time, or if the file cannot be read. Ignores metadata,
/// times that do not belong to events, and times more than a year from the first ones. May miss the time of an event
/// longer than 4 KiB. Private to core/import.
[[nodiscard]] std::optional<trace::time_ns> find_first_time(input& source);

}  // namespace sluice::importing
