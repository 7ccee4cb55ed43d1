#pragma once

#include "app/gui/views/parts/view.hpp"
#include "core/metrics/verdict/run_change.hpp"

/// The first lines of a comparison: the sentence, the numbers behind it, and the largest numbers on the right.
namespace sluice::gui {

/// The colour of a change. A sign or a pair of values says the same as the colour.
[[nodiscard]] ImU32 choose_colour(const theme& colours, metrics::change_trend trend);

/// Draws the header over the whole width. Numbers that have no room beside the sentence come below it.
void draw_change(const view_context& with, const metrics::run_change& change);

}  // namespace sluice::gui
