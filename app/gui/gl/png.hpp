#pragma once

#include <string>

#include "app/gui/gl/offscreen.hpp"

namespace sluice::gui::gl {

/// Writes `picture` to `path` as PNG, atomically: an existing file is replaced only by a complete one.
[[nodiscard]] result<void> write_png(const image& picture, const std::string& path);

}  // namespace sluice::gui::gl
