#pragma once

#include "app/gui/views/parts/panel_parts.hpp"

/// The marks above a chart of memory over time.
namespace sluice::gui {

/// Shows a moment in the timeline, and selects it.
void go_to_moment(const view_context& with, const metrics::report& whole_report, time_ns time);

/// Marks the peak `peak`, and the failed allocations of its device, in the chart `at` and above it. Clicking a mark
/// goes to that moment. Returns true if the mouse is on a mark. `hovered`: the mouse is on the chart or above it.
bool draw_flags(const view_context& with, const time_chart& at, const metrics::report& whole_report,
                const metrics::memory_peak& peak, bool hovered);

}  // namespace sluice::gui
