#pragma once

#include "core/timeline/slice_kind.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::analysis {

/// The slice of an event from its time to `end`; without an end it lasts on. One that ends before it begins has no length
/// and counts in `malformed`.
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
