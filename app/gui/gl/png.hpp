#pragma once

#include <string>

#include "app/gui/gl/offscreen.hpp"

namespace sluice::gui::gl {

/// Writes `picture` to `path` as a PNG file, atomically: only a complete file replaces an existing one.
[[nodiscard]] result<void> write_png(const image& picture, const std::string& path);

}  // namespace sluice::gui::gl
