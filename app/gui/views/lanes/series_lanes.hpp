#pragma once

#include <string_view>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/window/format.hpp"
#include "app/gui/window/theme.hpp"

/// Converts the curves of a track into areas, lines and dots.
namespace sluice::gui {

/// How a curve is drawn. Only curves whose values are known at all times are drawn as an area.
enum class band_mark : std::uint8_t {
  area,     ///< For used memory: filled.
  outline,  ///< For reserved memory, which is not known to be used: an outline with a faint fill.
  dots      ///< For sampled values: a dot where the value changed, and a thin line between dots.
};

/// Curves ("bands") that are drawn on top of one another, as areas. In contrast, the stacks of a lane overlap: a pool's
/// bytes are also part of the driver's, so the two are not added. The lower stack is drawn in front of the higher one.
struct band_stack {
  std::vector<std::size_t> bands;  ///< Indices into the bands of the series.
  band_mark mark = band_mark::area;
};

/// The part of a band's area into which the band's name fits.
struct band_label {
  std::size_t band = 0;
  time_range span;
  double low = 0;  ///< In the lane's unit. The band's area covers [low, high] during all of `span`.
  double high = 0;
};

/// A chart within a track, with its own axis.
struct series_lane {
  std::vector<band_stack> levels;
  trace::direction direction = trace::direction::unknown;  ///< The copy direction that the lane shows, if it shows only
                                                           ///< one.
  float height = 46;                                       ///< In design pixels.
  float pixels = 0;                                        ///< Height of the chart in pixels, used by `fill`; 0: not
                                                           ///< known.
  bool of_blocks = false;                                  ///< The areas of the first stack are not drawn, because its
                                                           ///< blocks are.
  bool limits = true;                                      ///< Limit lines are drawn.
  format::value_axis axis;
  draw::box_batch batch;
  std::vector<band_label> labels;
};

/// The scale of a device's memory that all lanes share.
struct memory_scale {
  double largest = 0;          ///< The highest value in any lane, in bytes; 0: there is no shared scale.
  double bytes_per_pixel = 0;  ///< Bytes per design pixel.
  float main_height = 0;       ///< The height of the lane of tracked memory, in design pixels; 0: the usual one.
  friend bool operator==(const memory_scale&, const memory_scale&) = default;
};

/// True for the samples of a whole GPU's memory, which are unknown (and 0 in the curve) before the first one.
[[nodiscard]] bool is_sampled(const query::band& band);

/// The height in design pixels of the first lane of a track, estimated from the track's kind.
[[nodiscard]] float usual_height(query::track_kind kind);

/// Splits `curves` into lanes. Bandwidth: one lane per direction, because directions cannot be added up and would hide
/// each other. Device memory: one lane for tracked memory, and one for the samples of the whole GPU, which may be many
/// times as large as tracked memory.
[[nodiscard]] std::vector<series_lane> list_lanes(const query::series& curves, query::track_kind kind);

/// The value that is drawn for a bin. Memory: `at_peak`, so that the categories add up to the memory in use at the
/// moment of the bin's highest use. Rates: the rate while copies ran. Other values: the maximum.
[[nodiscard]] double compute_height(const query::band& band, std::size_t bin, query::track_kind kind);

/// The highest value of a lane's stacks in any bin, which determines the axis.
[[nodiscard]] double find_highest(const series_lane& lane, const query::series& curves, query::track_kind kind);

/// The name of a band, as legends and the band's area show it. `mark`: how the band's stack is drawn.
[[nodiscard]] std::string_view brief(const query::band& band, band_mark mark);
/// The term that explains a band in the glossary; empty if there is none.
[[nodiscard]] std::string_view get_term(const query::band& band, band_mark mark);

/// Uploads the areas of `lane`, and places the labels of its bands. Areas do not overlap. `label_width`: for each band,
/// the width of its name, in bins. O(bins * bands).
void fill(series_lane& lane, const query::series& curves, query::track_kind kind, const theme& colours,
          const std::vector<std::size_t>& label_width);

}  // namespace sluice::gui
