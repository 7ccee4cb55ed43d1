#pragma once

#include "app/gui/application.hpp"

namespace sluice::gui {

/// One frame of `app` into the framebuffer that is bound, `width` x `height` pixels; ImGui's backends have begun it.
void render_frame(application& app, int width, int height);

}  // namespace sluice::gui
