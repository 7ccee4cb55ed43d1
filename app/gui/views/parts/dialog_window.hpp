#pragma once

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Begins a small window with a close button in the center of the main window. Always call `end_dialog` afterwards,
/// whatever this returns.
bool begin_dialog(const view_context& with, const char* title, bool* open);
void end_dialog();

/// Makes the current window modal: darkens what is behind it, and keeps the mouse from that. Call between `Begin` and
/// `End` of the window, in each frame.
void make_modal(const view_context& with);

}  // namespace sluice::gui
