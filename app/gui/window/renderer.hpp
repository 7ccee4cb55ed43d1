#pragma once

#include "app/gui/shell/application.hpp"

namespace sluice::gui {

/// Builds one frame of `app` (queries and layout), without drawing. ImGui's backends must have begun the frame.
void build_frame(application& app);

/// Draws the frame built last into the bound framebuffer, `width` x `height` pixels.
void draw_frame(const application& app, int width, int height);

/// Draws only one line of text, for comparison. A frame must have been built before.
void draw_empty_frame(const application& app, int width, int height);

}  // namespace sluice::gui
