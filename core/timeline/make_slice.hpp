#pragma once

#include "core/base/time/time_range.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::timeline {

/// Returns the slice of an event, from its time to `end`, or to the latest time if `end` is unknown. If `end` is before
/// the start, the slice has length 0 and `malformed` is incremented.
[[nodiscard]] inline timeline::slice_item make_slice(const trace::event_base& row, time_ns end, slice_kind kind,
                                                     std::uint64_t& malformed) {
  timeline::slice_item item;
  item.begin = bounded(row.time);
  item.end = end == trace::unknown_time ? latest_time : bounded(end);
  if (item.end < item.begin) {
    item.end = item.begin;
    ++malformed;
  }
  item.event = row.id;
  item.kind = static_cast<std::uint8_t>(kind);
  return item;
}

}  // namespace sluice::timeline
