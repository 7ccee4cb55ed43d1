#pragma once

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Begins a small window with a close button in the center of the main window. Always call `end_dialog` afterwards,
/// whatever this returns.
bool begin_dialog(const view_context& with, const char* title, bool* open);
void end_dialog();

}  // namespace sluice::gui
