#pragma once

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Draws the progress of an import or summary at the bottom of the window, with a button to cancel it. Draws nothing if
/// there is none. `above_notice`: leaves room for the message of `notice_bar`.
void draw_opening_progress(const view_context& with, bool above_notice);

}  // namespace sluice::gui
