#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/query/engine/engine.hpp"

namespace sluice::recordings {

/// A small picture of a recording: the memory of one device over the range that the window shows first, and what all
/// devices did in that range.
struct thumbnail {
  query::series memory;  ///< Of the device with the highest memory use, by category. No bands if there is none.
  /// For each of `columns` equal parts of the range, the share in which kernels or copies ran, 0..1.
  std::vector<float> kernels;
  std::vector<float> copies;

  static constexpr std::size_t columns = 120;
};

/// Computes the thumbnail of the recording of `engine`. Blocks; takes milliseconds for a summarized recording of any
/// size. Errors: those of the queries.
[[nodiscard]] result<thumbnail> make_thumbnail(query::engine& engine);

/// What a shape of the picture stands for.
enum class thumbnail_part : std::uint8_t {
  reserved,  ///< Memory that is reserved but not used.
  used,      ///< Memory of one band.
  kernels,
  copies
};

/// A shape of the picture: a bar in each column. Bars without a height are not drawn.
struct thumbnail_shape {
  thumbnail_part part{};
  std::size_t band = 0;  ///< The index in `thumbnail::memory`, for memory.
  /// The lower and the upper end of each bar, as shares (0..1) of the picture's height, counted from its lower edge.
  std::vector<std::pair<float, float>> bars;
};

/// Returns the shapes of the picture, from back to front: memory as stacked areas, below it a line of kernels, and at
/// the lower edge a line of copies. All programs that draw a thumbnail draw these shapes. O(bands * columns).
[[nodiscard]] std::vector<thumbnail_shape> list_shapes(const thumbnail& subject);

}  // namespace sluice::recordings
