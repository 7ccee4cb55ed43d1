#pragma once

#include "app/gui/views/parts/view.hpp"
#include "core/metrics/report/report.hpp"

/// The header of the summary: the verdict on a recording, as the first line of `sluice report` states it.
namespace sluice::gui {

/// Draws the verdict's headline, its numbers, the largest opportunity, and what was not recorded. Wraps the numbers to
/// as many rows as they need.
void draw_verdict(const view_context& with, const metrics::run_verdict& verdict);

}  // namespace sluice::gui
