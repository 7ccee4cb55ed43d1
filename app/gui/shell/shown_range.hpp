#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "core/base/time/time_range.hpp"
#include "core/metrics/statistics/tensor_report.hpp"

namespace sluice::gui {

/// True if `range` marks something without a duration: it is 1 ns long, or an event's time with 1 ns on either side.
[[nodiscard]] inline bool is_moment(time_range range) { return range.length() <= 2; }

/// The range that a link to `found` shows in the timeline. A moment, or a range shorter than 1 % of the active time,
/// would be a blank view. Such a range is shown with the shortest step around it; if there is none, in the middle of 1
/// % of the active time. Adds 5 % on either side.
[[nodiscard]] inline time_range shown_range(time_range found, time_range active,
                                            std::span<const metrics::step_summary> steps) {
  const time_ns least = std::max<time_ns>(active.length() / 100, 100);
  time_range shown = found;
  if (found.length() < least) {
    std::optional<time_range> step;
    for (const metrics::step_summary& process : steps)
      for (const metrics::step_metrics& each : process.steps) {
        const bool around = each.span.begin <= found.begin && found.end <= each.span.end;
        if (around && each.span.length() > found.length() && (!step || each.span.length() < step->length()))
          step = each.span;
      }
    const time_ns middle = found.begin + found.length() / 2;
    shown = step ? *step : time_range{middle - least / 2, middle + least / 2};
  }
  const time_ns air = shown.length() / 20 + 1;
  return {shown.begin - air, shown.end + air};
}

/// The range that shows one event: the event plus a quarter of its length on either side. An event without duration is
/// shown as by `shown_range`.
[[nodiscard]] inline time_range shown_around(time_range event, time_range active) {
  if (event.length() <= 1) return shown_range(event, active, {});
  const time_ns air = std::max<time_ns>(event.length() / 4, 5);
  return {event.begin - air, event.end + air};
}

}  // namespace sluice::gui
