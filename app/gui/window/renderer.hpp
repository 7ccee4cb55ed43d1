#pragma once

#include "app/gui/application/application.hpp"

namespace sluice::gui {

/// Builds one frame of `app` (queries and layout) without drawing it. ImGui's backends must have started the frame.
void build_frame(application& app);

/// Draws the frame that was built last into the bound framebuffer of `width` x `height` pixels.
void draw_frame(const application& app, int width, int height);

/// Draws only one line of text, to compare the costs. A frame must have been built before.
void draw_empty_frame(const application& app, int width, int height);

}  // namespace sluice::gui
