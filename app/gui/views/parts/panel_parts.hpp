#pragma once

#include <string_view>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/window/format.hpp"

/// Parts that panels with metrics share: charts over time, and the effects of clicking a row.
namespace sluice::gui {

/// True if a range contains nothing: no memory in use, no copies, no device work, no calls, no threads.
[[nodiscard]] bool is_empty(const metrics::range_statistics& statistics);
/// Suggests a reason for which a recording is empty.
inline constexpr const char* nothing_recorded =
    "No allocation, copy, kernel or CUDA call was seen. Does the recorded command itself use the GPU?";
/// Draws the message that panels about memory show if no memory was recorded.
void no_memory_recorded(const view_context& with);

/// Draws a paragraph of secondary text.
void remark(const view_context& with, std::string_view text);

/// Selects an event and shows it in the timeline. Does nothing for `event_id::none`.
void show_event(const view_context& with, trace::event_id event);
/// Does the same for a block.
void show_block(const view_context& with, trace::block_id block);
using metrics::main_peak;

/// How the memory of the active recording is grouped unless the user chooses an attribution.
struct automatic_grouping {
  std::optional<symbols::attribution> by;   ///< The attribution in use; none: not known yet.
  std::optional<symbols::attribution> now;  ///< The attribution that suits the current data best, if it differs from
                                            ///< `by` because the recording has grown.
};
[[nodiscard]] automatic_grouping choose_grouping(const view_context& with,
                                                 const query::query_result<metrics::report>& report);

/// Draws a combo box to choose the attribution of memory. If `chosen` is none, `automatic` applies.
void attribution_combo(const view_context& with, const char* id, std::optional<symbols::attribution>& chosen,
                       const automatic_grouping& automatic);
/// Shows a range in the timeline, with some space on either side.
void show_range(const view_context& with, time_range range);

/// Draws "Selected range, 2.2 ms" with buttons to zoom to the range and to clear it, or "Whole recording" if no range
/// is selected.
void range_line(const view_context& with, time_range range);

/// The width of text in the small size that is used beside charts.
[[nodiscard]] float small_width(const view_context& with, std::string_view text);

/// The position and scales of a chart of values over time.
struct time_chart {
  draw::rectangle area;
  time_range span;
  double top = 1;  ///< The value at the upper edge of `area`; 0 is at the lower edge.

  [[nodiscard]] float to_x(time_ns time) const {
    return area.min.x + static_cast<float>(static_cast<double>(time - span.begin) /
                                           static_cast<double>(std::max<time_ns>(span.length(), 1)) *
                                           static_cast<double>(area.width()));
  }
  [[nodiscard]] time_ns time_at(float x) const {
    const double share = static_cast<double>((x - area.min.x) / std::max(area.width(), 1.0F));
    return span.begin + static_cast<time_ns>(share * static_cast<double>(span.length()));
  }
  [[nodiscard]] float to_y(double value) const { return area.max.y - static_cast<float>(value / top) * area.height(); }
  /// False if the area is too small to draw anything in it.
  [[nodiscard]] bool fits(const view_context& with) const {
    return area.width() >= with.px(40) && area.height() >= with.px(30);
  }
};

/// Lays out a chart with a value axis on its left, from 0 to at least `highest`, and a time axis below it, and draws
/// both axes.
time_chart begin_time_chart(const view_context& with, ImVec2 corner, ImVec2 size, time_range span, double highest,
                            format::value_unit unit);
/// Does the same without a time axis: `span` may be in any unit, such as steps.
time_chart begin_value_chart(const view_context& with, ImVec2 corner, ImVec2 size, time_range span, double highest,
                             format::value_unit unit);
/// Handles the mouse wheel over a chart: zooms the timeline around the mouse, or pans it if Shift is held.
void zoom_with_wheel(const view_context& with, const time_chart& at);
/// Draws only the time axis, below the chart's area.
void draw_time_axis(const view_context& with, const time_chart& at);

}  // namespace sluice::gui
