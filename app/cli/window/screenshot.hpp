#pragma once

#include <string>

#include "core/base/error.hpp"

/// The window as a picture, for `sluice mcp`. Only in builds with the window.
namespace sluice::cli {

struct picture_wanted {
  std::string file;               ///< The recording.
  std::string size = "1600x900";  ///< In pixels.
  std::string range;              ///< In the syntax of --range; empty: the whole recording.
  std::string view;               ///< The only panel to draw; empty: all panels.
};

/// Draws the window as `sluice screenshot` does, and returns the bytes of a PNG file. Errors: invalid_argument,
/// not_found (no such view), unavailable (no graphics device), and those of opening a recording.
[[nodiscard]] result<std::string> picture_as_png(const picture_wanted& wanted);

}  // namespace sluice::cli
