#include "app/recordings/thumbnail_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace sluice::recordings {
namespace {

/// Heights in a picture are whole numbers up to this one, so that the text stays short.
constexpr int units = 200;

std::uint32_t get_colour(const thumbnail& subject, const thumbnail_shape& shape) {
  const thumbnail_colours& colours = page_colours();
  if (shape.part == thumbnail_part::reserved) return colours.reserved;
  if (shape.part == thumbnail_part::kernels) return colours.kernels;
  if (shape.part == thumbnail_part::copies) return colours.copies;
  const query::band& band = subject.memory.bands[shape.band];
  if (band.by_category) return colours.categories[static_cast<std::size_t>(band.category)];
  const bool plain = band.kind == trace::memory_kind::unknown || band.kind == trace::memory_kind::device;
  if (band.layer == trace::layer::driver && !plain) return colours.memory[static_cast<std::size_t>(band.kind)];
  return colours.layers[static_cast<std::size_t>(band.layer)];
}

int get_units(float share) { return static_cast<int>(std::lround(std::clamp(share, 0.0F, 1.0F) * units)); }

/// Returns the shape as a path: one rectangle for each run of bars of the same height.
std::string make_path(const thumbnail_shape& shape) {
  std::string path;
  for (std::size_t at = 0; at < shape.bars.size();) {
    std::size_t end = at + 1;
    while (end < shape.bars.size() && shape.bars[end] == shape.bars[at]) ++end;
    const auto [low, high] = shape.bars[at];
    const int bottom = get_units(low);
    // A short kernel stays visible.
    const int top = high > low ? std::max(get_units(high), bottom + 2) : bottom;
    if (top > bottom)
      fmt::format_to(std::back_inserter(path), "M{} {}h{}v{}h-{}z", at, units - bottom, end - at, bottom - top,
                     end - at);
    at = end;
  }
  return path;
}

}  // namespace

const thumbnail_colours& page_colours() {
  static const thumbnail_colours colours{
      // none, weight, gradient, optimizer state, activation, input, workspace
      .categories = {0xACADAA, 0xE61073, 0x9A6920, 0x7361EA, 0x008170, 0xE2C90E, 0xD58C5C},
      .layers = {0x899EFF, 0x4EE1EC, 0xBADDAD, 0x9F84A8},
      .memory = {0xACADAA, 0x899EFF, 0x8A74C9, 0xB8745C, 0xC0AE57, 0x61827F, 0x666E79, 0x9EA995, 0x7F93B8},
      .reserved = 0x262D35,
      .kernels = 0x598A68,
      .copies = 0x33C3FF};
  return colours;
}

std::string to_svg(const thumbnail& subject, int width, int height) {
  std::string text = fmt::format(
      "<svg width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">", width,
      height, thumbnail::columns, units);
  for (const thumbnail_shape& shape : list_shapes(subject))
    if (const std::string path = make_path(shape); !path.empty())
      text += fmt::format("<path fill=\"#{:06x}\" d=\"{}\"/>", get_colour(subject, shape), path);
  return text + "</svg>";
}

}  // namespace sluice::recordings
