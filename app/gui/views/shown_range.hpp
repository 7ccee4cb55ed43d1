#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "core/figures/tensor_report.hpp"
#include "core/timeline/time_range.hpp"

namespace sluice::gui {

/// True for the range of what has no duration: 1 ns, or an event's time with 1 ns on either side.
[[nodiscard]] inline bool is_moment(analysis::time_range range) { return range.length() <= 2; }

/// The range that a link to `found` shows in the timeline. A moment, or what is shorter than 1 % of the active time, is
/// shown with the shortest step around it, or else in the middle of 1 % of the active time: by itself it would be a
/// blank view. Adds 5 % on either side.
[[nodiscard]] inline analysis::time_range shown_range(analysis::time_range found, analysis::time_range active,
                                                      std::span<const analysis::step_summary> steps) {
  using analysis::time_ns;
  using analysis::time_range;
  const time_ns least = std::max<time_ns>(active.length() / 100, 100);
  time_range shown = found;
  if (found.length() < least) {
    std::optional<time_range> step;
    for (const analysis::step_summary& process : steps)
      for (const analysis::step_figures& each : process.steps) {
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

/// The range that shows one event: the event with a quarter of its length on either side; a moment as in `shown_range`.
[[nodiscard]] inline analysis::time_range shown_around(analysis::time_range event, analysis::time_range active) {
  if (event.length() <= 1) return shown_range(event, active, {});
  const analysis::time_ns air = std::max<analysis::time_ns>(event.length() / 4, 5);
  return {event.begin - air, event.end + air};
}

}  // namespace sluice::gui
