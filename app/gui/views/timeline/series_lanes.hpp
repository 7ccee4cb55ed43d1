#pragma once

#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/window/format.hpp"
#include "app/gui/window/theme.hpp"

/// Converts the curves of a track to areas.
namespace sluice::gui {

/// Curves ("bands") drawn on top of one another, as areas. Several stacks of a lane overlap instead: a pool's bytes are
/// also the driver's, so the two are not added. The lower stack is drawn in front of the higher one.
struct band_stack {
  std::vector<std::size_t> bands;  ///< Indices into the series.
};

/// A chart of a track, with its own axis.
struct series_lane {
  std::vector<band_stack> levels;
  trace::direction direction = trace::direction::unknown;  ///< The copy direction that the lane shows, if only one.
  float height = 46;                                       ///< In design pixels.
  const char* caption = nullptr;                           ///< Title of the lane, if a track has two.
  bool limits = true;                                      ///< True if limit lines are drawn.
  format::value_axis axis;
  draw::box_batch batch;
};

/// Splits `curves` into lanes. Bandwidth: one lane per direction, because directions do not add up and would hide each
/// other. Device memory: one lane for tracked memory, and one for the whole GPU, which may be many times as much.
[[nodiscard]] std::vector<series_lane> lanes_of(const query::series& curves, query::track_kind kind);

/// The value drawn for a bin. Memory: `at_peak`, so that categories add up to what was in use at the bin's highest
/// moment. A rate: the mean, so that areas represent bytes. Others: the maximum.
[[nodiscard]] double height_of(const query::bin& bin, query::track_kind kind);

/// The highest value of a lane's stacks in any bin, for the axis.
[[nodiscard]] double highest_of(const series_lane& lane, const query::series& curves, query::track_kind kind);

/// Uploads the areas of `lane`. Areas do not overlap. O(bins * bands).
void fill(series_lane& lane, const query::series& curves, query::track_kind kind, const theme& colours);

}  // namespace sluice::gui
