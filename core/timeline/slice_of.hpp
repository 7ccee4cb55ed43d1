#pragma once

#include "core/timeline/slice_kind.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::analysis {

/// Returns the slice of an event from its time to `end`; with an unknown end it lasts to the latest time. If the end
/// lies before the begin, the slice has zero length and `malformed` is incremented.
[[nodiscard]] inline timeline::slice_item slice_of(const trace::event_base& row, time_ns end, slice_kind kind,
                                                   std::uint64_t& malformed) {
  timeline::slice_item made;
  made.begin = bounded(row.time);
  made.end = end == trace::unknown_time ? latest_time : bounded(end);
  if (made.end < made.begin) {
    made.end = made.begin;
    ++malformed;
  }
  made.event = row.id;
  made.kind = static_cast<std::uint8_t>(kind);
  return made;
}

}  // namespace sluice::analysis
