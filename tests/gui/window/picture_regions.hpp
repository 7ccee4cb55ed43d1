#pragma once

#include <string>

#include "app/gui/application/application.hpp"
#include "app/gui/gl/png.hpp"

/// Compares pictures of the window region by region.
namespace sluice::test {

/// Draws the last frame completely, into a separate buffer and shifted by a few pixels: a tile that a software
/// OpenGL draws wrong in the window is right at the same place in this picture. Call on the window's thread.
[[nodiscard]] gui::gl::image drawn_apart(const gui::application& app, int width, int height);

/// For each region of the window (a panel, menu or dialog) that differs, the number of clearly different pixels:
/// "Timeline: 4096 pixels, first at 700,300". Empty if nothing differs. Call on the window's thread.
[[nodiscard]] std::string differing_regions(const gui::gl::image& shown, const gui::gl::image& whole);

}  // namespace sluice::test
