#pragma once

#include "app/gui/views/panel_parts.hpp"

/// What is marked above a chart of memory over time.
namespace sluice::gui {

/// Shows a moment on the timeline and makes it the chosen one.
void go_to_moment(const view_context& with, const analysis::report& all, query::time_ns time);

/// Marks the peak `of`, and the allocations that failed on its device, above and in `at`; a click on a mark goes there.
/// Returns true if the mouse is on a mark. `hovered`: the mouse is on the chart or above it.
bool draw_flags(const view_context& with, const time_chart& at, const analysis::report& all,
                const analysis::memory_peak& of, bool hovered);

}  // namespace sluice::gui
