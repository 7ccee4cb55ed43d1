#pragma once

#include "app/gui/shell/application.hpp"

namespace sluice::gui {

/// One frame of `app`, which asks its questions and lays itself out; ImGui's backends have begun it. Nothing is drawn yet.
void build_frame(application& app);

/// Draws what was built last into the framebuffer that is bound, `width` x `height` pixels.
void draw_frame(const application& app, int width, int height);

}  // namespace sluice::gui
