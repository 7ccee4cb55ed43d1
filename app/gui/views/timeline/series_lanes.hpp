#pragma once

#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/window/format.hpp"
#include "app/gui/window/theme.hpp"

/// How the curves of a track become areas.
namespace sluice::gui {

/// Bands that stand on one another. The levels of a lane lie inside one another: a pool's bytes are the driver's too, so
/// the layer that reaches lower is drawn in front of the one that reaches higher, never added to it.
struct band_stack {
  std::vector<std::size_t> bands;  ///< Indices into the series.
};

/// A chart of a track with an axis of its own.
struct series_lane {
  std::vector<band_stack> levels;
  trace::direction direction = trace::direction::unknown;  ///< Of a lane that shows one.
  float height = 46;                                       ///< Design pixels.
  const char* caption = nullptr;                           ///< What the lane is, where a track has two.
  bool limits = true;                                      ///< Draws the limit lines.
  format::value_axis axis;
  draw::box_batch batch;
};

/// The lanes that show `curves` best: one for each direction, since they do not add up and would hide one another; and for
/// a device's memory one for what is tracked and one for all that is in use, which may be many times as much.
[[nodiscard]] std::vector<series_lane> lanes_of(const query::series& curves, query::track_kind kind);

/// What a bin counts for: memory shows what it reached inside a pixel; a rate shows its mean, so that areas are bytes.
[[nodiscard]] double height_of(const query::bin& bin, query::track_kind kind);

/// The highest that a lane reaches in the bins.
[[nodiscard]] double highest_of(const series_lane& lane, const query::series& curves, query::track_kind kind);

/// Uploads the areas of `lane`. Nothing is painted twice. O(bins * bands).
void fill(series_lane& lane, const query::series& curves, query::track_kind kind, const theme& colours);

}  // namespace sluice::gui
