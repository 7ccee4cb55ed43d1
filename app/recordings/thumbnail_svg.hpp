#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "app/recordings/thumbnail.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::recordings {

/// The colours of a thumbnail on a page, as 0xRRGGBB: those of the window's dark theme.
struct thumbnail_colours {
  std::array<std::uint32_t, index::category_count> categories{};
  std::array<std::uint32_t, trace::layer_count> layers{};
  std::array<std::uint32_t, trace::memory_kind_count> memory{};
  std::uint32_t reserved = 0, kernels = 0, copies = 0;
};
[[nodiscard]] const thumbnail_colours& page_colours();

/// Returns the thumbnail as an SVG element for a page. It contains numbers and colours only, no text of the recording.
/// At most some kilobytes for each band. Width and height are in CSS pixels.
[[nodiscard]] std::string to_svg(const thumbnail& subject, int width, int height);

}  // namespace sluice::recordings
