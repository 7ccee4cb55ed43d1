#pragma once

#include "app/gui/views/view.hpp"
#include "core/figures/report.hpp"

/// The findings of a report as cards: first what following the advice saves, then what is wrong, the advice, and links
/// to what the finding is about.
namespace sluice::gui {

/// At most this many warnings are drawn as open cards.
inline constexpr std::size_t most_open_cards = 5;

/// Draws errors and warnings, then the rest, folded, as "Also noticed".
void draw_finding_cards(const view_context& with, const analysis::report& all);

}  // namespace sluice::gui
