#pragma once

#include <initializer_list>
#include <string_view>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/view.hpp"
#include "app/gui/window/format.hpp"

/// What panels of figures share: tables of numbers, charts over time, and what a click on a row does.
namespace sluice::gui {

/// A row of headings in a table: the first at the left, the others, which are of numbers, at the right.
void figure_heads(std::initializer_list<const char*> titles);
/// Begins a table with headings. The first column gets the width that the others leave, which are numbers. If true, end
/// it with ImGui::EndTable. Not wider than a line is easily read along.
bool begin_figures(const char* id, std::initializer_list<const char*> titles);

/// The first cell of a row (`row_menu::begin_row`), clipped.
void first_cell(std::string_view text);
/// A cell with a number, right-aligned.
void figure_cell(std::string_view text, bool muted = false);

/// Whether nothing is known to have happened in a range.
[[nodiscard]] bool is_empty(const analysis::range_statistics& all);
/// What an empty recording may be due to.
inline constexpr const char* nothing_recorded =
    "No allocation, copy, kernel or CUDA call was seen. Does the recorded command itself use the GPU?";
/// The empty state of panels about memory.
void no_memory_recorded(const view_context& with);

/// A paragraph of secondary text.
void remark(const view_context& with, std::string_view text);

/// Selects an event and shows it in the timeline. Nothing for `event_id::none`.
void show_event(const view_context& with, trace::event_id event);
using analysis::main_peak;

/// What the active recording's memory is grouped by if the user does not choose. `report`: as far as it is known.
struct automatic_grouping {
  std::optional<symbols::attribution> by;   ///< None: not known yet.
  std::optional<symbols::attribution> now;  ///< What would be chosen now, if that differs: the recording has grown.
};
[[nodiscard]] automatic_grouping grouping_of(const view_context& with, const query::answer<analysis::report>& report);

/// A choice of who is said to have asked for memory. `chosen` none: `automatic`.
void attribution_combo(const view_context& with, const char* id, std::optional<symbols::attribution>& chosen,
                       const automatic_grouping& automatic);
/// Shows a range in the timeline, with some space on either side.
void show_range(const view_context& with, query::time_range range);

/// "the selected range, 1.2 ms to 3.4 ms" with buttons to zoom there and to clear it; "Whole recording" without one.
void range_line(const view_context& with, query::time_range range);

/// Width of small text, as beside charts.
[[nodiscard]] float small_width(const view_context& with, std::string_view text);

/// A chart of values over time: where they are drawn.
struct time_chart {
  draw::rectangle area;
  query::time_range span;
  double top = 1;  ///< The value at the upper edge.

  [[nodiscard]] float x_of(query::time_ns time) const {
    return area.min.x + static_cast<float>(static_cast<double>(time - span.begin) /
                                           static_cast<double>(std::max<query::time_ns>(span.length(), 1)) *
                                           static_cast<double>(area.width()));
  }
  [[nodiscard]] query::time_ns time_at(float x) const {
    const double share = static_cast<double>((x - area.min.x) / std::max(area.width(), 1.0F));
    return span.begin + static_cast<query::time_ns>(share * static_cast<double>(span.length()));
  }
  [[nodiscard]] float y_of(double value) const { return area.max.y - static_cast<float>(value / top) * area.height(); }
  /// False if there is too little room to draw anything.
  [[nodiscard]] bool fits(const view_context& with) const {
    return area.width() >= with.px(40) && area.height() >= with.px(30);
  }
};

/// Places a chart with a value axis at its left, from 0 to at least `highest`, and a time axis below, and draws both.
time_chart begin_time_chart(const view_context& with, ImVec2 corner, ImVec2 size, query::time_range span,
                            double highest, format::value_unit unit);
/// The same without the time axis: `span` is of anything that is counted, as steps.
time_chart begin_value_chart(const view_context& with, ImVec2 corner, ImVec2 size, query::time_range span,
                             double highest, format::value_unit unit);
/// The wheel over a chart zooms the timeline around the mouse; with Shift it moves it.
void zoom_with_wheel(const view_context& with, const time_chart& at);
/// The time axis alone, below `area`.
void draw_time_axis(const view_context& with, const time_chart& at);

}  // namespace sluice::gui
