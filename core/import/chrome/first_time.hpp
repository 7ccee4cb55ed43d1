#pragma once

#include <optional>

#include "core/import/input.hpp"
#include "core/trace/model/ids.hpp"

namespace sluice::importing {

/// The time of the first event of a Chrome trace, which may stand anywhere in the file; torch.profiler writes it last.
/// Finds it by a search for the events' "ts", of which it reads those that are earlier than all before: a fraction of
/// what parsing takes. Nothing if there is none, or the file cannot be read. Metadata, and times that are no event's or
/// more than a year from the first ones, do not count. Where an event is longer than 4 KiB, it may miss it. Private to
/// core/import.
[[nodiscard]] std::optional<trace::time_ns> find_first_time(input& source);

}  // namespace sluice::importing
