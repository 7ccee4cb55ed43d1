#pragma once

#include <string_view>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/window/format.hpp"
#include "app/gui/window/theme.hpp"

/// Converts the curves of a track to areas, lines and dots.
namespace sluice::gui {

/// How a curve is drawn. Only what is known at all times is an area.
enum class band_mark : std::uint8_t {
  area,     ///< In use: filled.
  outline,  ///< Held, not known to be used: an outline with a faint fill.
  dots      ///< Sampled: a dot where the value changed, and a thin line between dots.
};

/// Curves ("bands") drawn on top of one another, as areas. Several stacks of a lane overlap instead: a pool's bytes are
/// also the driver's, so the two are not added. The lower stack is drawn in front of the higher one.
struct band_stack {
  std::vector<std::size_t> bands;  ///< Indices into the series.
  band_mark mark = band_mark::area;
};

/// Where the name of a band fits into its area.
struct band_label {
  std::size_t band = 0;
  query::time_range span;
  double low = 0;  ///< In the lane's unit; the area covers [low, high] over all of `span`.
  double high = 0;
};

/// A chart of a track, with its own axis.
struct series_lane {
  std::vector<band_stack> levels;
  trace::direction direction = trace::direction::unknown;  ///< The copy direction that the lane shows, if only one.
  float height = 46;                                       ///< In design pixels.
  float pixels = 0;                                        ///< Height of the chart in pixels, for `fill`; 0: not known.
  bool limits = true;                                      ///< True if limit lines are drawn.
  format::value_axis axis;
  draw::box_batch batch;
  std::vector<band_label> labels;
};

/// Memory of a device is drawn to one scale in all lanes.
struct memory_scale {
  double largest = 0;          ///< Highest value of any lane, in bytes; 0: no common scale.
  double bytes_per_pixel = 0;  ///< Per design pixel.
  friend bool operator==(const memory_scale&, const memory_scale&) = default;
};

/// The height of a track's first lane in design pixels, as far as the kind of track tells.
[[nodiscard]] float usual_height(query::track_kind kind);

/// Splits `curves` into lanes. Bandwidth: one lane per direction, because directions do not add up and would hide each
/// other. Device memory: one lane for tracked memory, and one for the samples of the whole GPU, which may be many times
/// as much.
[[nodiscard]] std::vector<series_lane> lanes_of(const query::series& curves, query::track_kind kind);

/// The value drawn for a bin. Memory: `at_peak`, so that categories add up to what was in use at the bin's highest
/// moment. A rate: that while copies ran. Others: the maximum.
[[nodiscard]] double height_of(const query::band& band, std::size_t bin, query::track_kind kind);

/// The highest value of a lane's stacks in any bin, for the axis.
[[nodiscard]] double highest_of(const series_lane& lane, const query::series& curves, query::track_kind kind);

/// The name of a band in legends and in its area. `mark`: how its stack is drawn.
[[nodiscard]] std::string_view brief(const query::band& band, band_mark mark);
/// The glossary's term for a band; empty if there is none.
[[nodiscard]] std::string_view term_of(const query::band& band, band_mark mark);

/// Uploads the areas of `lane`, and finds the places of its labels. Areas do not overlap. `label_width`: for each band,
/// the width of its name in bins. O(bins * bands).
void fill(series_lane& lane, const query::series& curves, query::track_kind kind, const theme& colours,
          const std::vector<std::size_t>& label_width);

}  // namespace sluice::gui
