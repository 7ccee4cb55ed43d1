#pragma once

#include <string>

#include "app/gui/gl/png.hpp"
#include "app/gui/shell/application.hpp"

/// Comparing pictures of the window by its regions.
namespace sluice::test {

/// The frame that was built last, drawn whole into a buffer of its own, and moved there by some pixels: what a software
/// GL draws wrong in a tile of the window, it does not draw wrong at the same place here. Call on the window's thread.
[[nodiscard]] gui::gl::image drawn_apart(const gui::application& app, int width, int height);

/// Says for each region of the window, a panel, menu or dialog, how many of its pixels differ clearly: "Timeline: 4096
/// pixels, first at 700,300". Empty if none do. Call on the window's thread.
[[nodiscard]] std::string differing_regions(const gui::gl::image& shown, const gui::gl::image& whole);

}  // namespace sluice::test
