#pragma once

#include "app/gui/views/parts/view.hpp"
#include "core/metrics/report/report.hpp"

/// The findings of a report as cards: the problem, the saving from a fix, the line, the advice, and links to the data.
namespace sluice::gui {

/// Maximum number of major findings whose cards are drawn unfolded.
inline constexpr std::size_t max_open_cards = 5;

/// Draws the major findings; then draws the other findings, folded, under "Smaller findings".
void draw_finding_cards(const view_context& with, const metrics::report& whole_report);

}  // namespace sluice::gui
