#pragma once

#include <string_view>

#include "app/gui/views/parts/view.hpp"
#include "app/gui/window/format.hpp"

/// Parts that panels with metrics share: choices, remarks, and the effects of clicking a row.
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
/// Shows a moment in the timeline, and selects it.
void go_to_moment(const view_context& with, const metrics::report& whole_report, time_ns time);
/// Shows a range in the timeline, with some space on either side.
void show_range(const view_context& with, time_range range);

/// Draws "Selected range, 2.2 ms" with buttons to zoom to the range and to clear it, or "Whole recording" if no range
/// is selected.
void range_line(const view_context& with, time_range range);

/// The width of text in the small size that is used beside charts.
[[nodiscard]] float small_width(const view_context& with, std::string_view text);

}  // namespace sluice::gui
