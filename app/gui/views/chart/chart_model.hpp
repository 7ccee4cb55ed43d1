#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/window/format.hpp"
#include "imgui.h"

/// The content of the charts in the panels, which tests can read without a display. `view_charts` draws it.
namespace sluice::gui {

/// What the positions along an axis are.
enum class axis_kind : std::uint8_t {
  amounts,  ///< Values of `chart_axis::unit`.
  moments,  ///< Times of the recording, in ns since `chart_axis::origin`.
  items     ///< Things with a number: item i extends from i to i + 1.
};

struct chart_axis {
  axis_kind kind = axis_kind::amounts;
  format::value_unit unit = format::value_unit::none;
  bool logarithmic = false;  ///< Only for amounts; `low` must then be positive.
  double low = 0;
  double high = 1;  ///< Greater than `low`.
  std::string title{};
  time_ns origin = 0;     ///< The time at position 0.
  double label_at = 0.5;  ///< Where the label of an item is: 0 at its start, 1 at its end.
  std::function<std::string(std::int64_t item)> name{};  ///< The label of an item; empty label: none.
  std::function<bool(std::int64_t item)> stands_out{};   ///< The label of this item is a warning. May be empty.

  /// Where a value is: 0 at `low`, 1 at `high`. Values below `low` of a logarithmic axis are at 0.
  [[nodiscard]] double to_share(double value) const;
  [[nodiscard]] double to_value(double share) const;
  /// The position of a time on an axis of moments.
  [[nodiscard]] double place(time_ns time) const { return static_cast<double>(time - origin); }
  [[nodiscard]] time_ns time(double place) const { return origin + static_cast<time_ns>(place); }
  /// At most about `wanted` labelled positions, ascending, at round values.
  [[nodiscard]] std::vector<format::tick> ticks(int wanted) const;
};

/// The axis of a time range. Positions are ns since `span.begin`, or since `origin`.
[[nodiscard]] chart_axis make_time_axis(time_range span, std::optional<time_ns> origin = std::nullopt);
[[nodiscard]] chart_axis make_item_axis(std::size_t count, std::function<std::string(std::int64_t)> name);

enum class series_look : std::uint8_t {
  bars,   ///< Boxes of which the mouse may be anywhere in the column. Bars that share a pixel are drawn as the highest.
  boxes,  ///< Boxes anywhere in the chart: bands of a stack, blocks, fields of a map.
  steps,  ///< A curve that is constant from `begin` to `end` of each point.
  line,   ///< A line from point to point.
  dots
};

/// One value of a series. Bars, boxes and steps extend from `begin` to `end` along the x axis; lines and dots are at
/// `begin`. Bars and boxes extend from `low` to `high` along the y axis; the others are at `high`.
struct chart_point {
  double begin = 0;
  double end = 0;
  double low = 0;
  double high = 0;
  ImU32 colour = 0;         ///< 0: the colour of the series.
  std::uint32_t item = 0;   ///< What the point stands for: its number in the data of the view.
  float radius = 3;         ///< Of a dot, in design pixels.
  bool ends = false;        ///< Of a box: leave a pixel before the next one if there is space.
  bool stands_out = false;  ///< Of a bar: its colour wins if several bars share a pixel.
};

struct chart_series {
  std::string name{};  ///< In the legend; empty: not there.
  series_look look = series_look::bars;
  ImU32 colour = 0;
  float thickness = 1.5F;  ///< Of a curve or line, in design pixels.
  bool outlined = false;   ///< A curve over boxes: separate it from them by lines in the background's colour.
  bool parted = false;     ///< Bars and boxes: leave a pixel beside each bar, and below each box, if there is space.
  std::vector<chart_point> points{};
  std::optional<std::uint32_t> chosen{};       ///< The item that is selected.
  std::optional<std::uint32_t> highlighted{};  ///< The item under the mouse, of boxes.
};

enum class mark_kind : std::uint8_t {
  moment,  ///< A vertical line, whose label is above the chart.
  flag,    ///< The same with a triangle above the chart, which can be clicked.
  level,   ///< A horizontal line, whose label is beside it.
  range    ///< A translucent area from `at` to `to` along the x axis.
};

struct chart_mark {
  mark_kind kind = mark_kind::moment;
  double at = 0;
  double to = 0;
  std::string label{};
  ImU32 colour = 0;
  float thickness = 1;  ///< In design pixels.
  std::function<void()> click{};
};

/// What is under the mouse.
struct chart_pointer {
  double x = 0;
  double y = 0;
  std::optional<std::size_t> series{};  ///< The bar, box or dot under the mouse is of this series.
  std::uint32_t item = 0;               ///< Its item.
};

/// The content of the tooltip of a chart.
struct chart_tip {
  struct line {
    std::string label{};  ///< Muted if there is also a value; empty: none.
    std::string value{};
    ImU32 swatch = 0;  ///< The colour of a square before the line; 0: none.
    bool muted = false;
  };
  std::vector<line> lines{};
  std::function<void()> draw_more{};  ///< Draws what follows the lines. May be empty.

  void say(std::string text) { lines.push_back({.label = std::move(text)}); }
  void hint(std::string text) { lines.push_back({.label = std::move(text), .muted = true}); }
  void field(std::string label, std::string value, ImU32 swatch = 0) {
    lines.push_back({std::move(label), std::move(value), swatch});
  }
  [[nodiscard]] bool empty() const { return lines.empty() && !draw_more; }
  /// The lines, one below the other, with a tab between label and value.
  [[nodiscard]] std::string text() const;
};

/// How the axis of values is chosen, so that a few very high bars do not flatten the others.
enum class value_scale : std::uint8_t {
  clipped,  ///< Bars that are far higher than the others are cut off.
  linear,   ///< From 0 to the highest bar.
  logarithmic
};
inline constexpr std::size_t value_scale_count = 3;
/// "clipped", "linear", "log".
[[nodiscard]] const char* get_name(value_scale scale);

/// A chart: its axes, its series from back to front, and functions for what is under the mouse. Views make it from a
/// result, in each frame or once per result. Use on the window's thread.
struct chart_model {
  chart_axis x{};
  chart_axis y{};
  std::vector<chart_series> series{};
  std::vector<chart_mark> marks{};  ///< The most important first: the label of another is left out if they collide.
  bool axes = true;                 ///< False for a small curve that fills its area and has no labels.
  bool downward = false;            ///< Low values of the y axis are at the top.
  bool legend = false;              ///< Name the series above the chart.
  bool crosshair = false;           ///< A vertical line at the mouse, with dots on the curves.
  bool scales = false;              ///< The user may choose the scale of the values.
  bool offers_scales = false;       ///< The choice is shown now, in its own row; set by `view_charts`.
  ImU32 chosen_colour = 0;          ///< Of selected bars, and of the outline of selected boxes and dots.

  // Each may be empty.
  std::function<chart_tip(const chart_pointer&)> tip{};
  std::function<void(const chart_pointer&)> click{};
  std::function<void(const chart_pointer&)> right_click{};
  std::function<bool(const chart_pointer&)> clickable{};  ///< Show a hand. Empty: never.

  /// Chooses the range of the y axis for the bars. Returns the scale that was applied: `linear` instead of `clipped` if
  /// no bar is far higher than the others. O(points).
  value_scale fit(value_scale wanted);
  /// The number of bars that are higher than the y axis. O(points).
  [[nodiscard]] std::size_t cut_off() const;
};

/// The end of an axis for `values` of which a few are far higher than the others: at most a quarter is above four times
/// the median. If there are none, or more, the highest value. O(values * log values).
[[nodiscard]] double clip_above(std::vector<double> values);

/// Adds to `points` what has the same height as its neighbour by making that wider, so that fewer boxes are drawn.
void add_joined(std::vector<chart_point>& points, const chart_point& next);

}  // namespace sluice::gui
