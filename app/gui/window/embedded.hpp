#pragma once

#include <span>
#include <string_view>

/// Files embedded in the program. CMake's embed_in_window() generates one function for each.
namespace sluice::gui::embedded {

// Typefaces, each a zstd frame.
[[nodiscard]] std::span<const unsigned char> font_regular();
[[nodiscard]] std::span<const unsigned char> font_bold();
[[nodiscard]] std::span<const unsigned char> font_icons();
// Shaders.
[[nodiscard]] std::span<const unsigned char> box_vertex();
[[nodiscard]] std::span<const unsigned char> box_fragment();
[[nodiscard]] std::span<const unsigned char> plain_fragment();

[[nodiscard]] inline std::string_view text(std::span<const unsigned char> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace sluice::gui::embedded
