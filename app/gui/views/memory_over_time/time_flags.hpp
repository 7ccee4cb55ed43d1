#pragma once

#include "app/gui/views/chart/chart_model.hpp"
#include "app/gui/views/parts/panel_parts.hpp"

/// The marks above a chart of memory over time.
namespace sluice::gui {

/// Marks the peak `peak`, and the failed allocations of its device, in a chart whose x axis is one of times. Clicking a
/// mark goes to that moment. The arguments must outlive the model.
void add_flags(chart_model& model, const view_context& with, const metrics::report& whole_report,
               const metrics::memory_peak& peak);

}  // namespace sluice::gui
