#pragma once

#include <array>
#include <memory>

#include "app/gui/views/timeline/memory_curve.hpp"
#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// A strip that shows the whole recording: memory in use as an area below a line for reserved memory, stream activity
/// as thin bars, and the visible range of the timeline. The time before the first and after the last work is hatched.
/// The user can drag the range to move it, drag one of its edges to resize it, drag elsewhere to choose another range,
/// and double-click to show everything.
class overview_strip {
 public:
  /// Draws in the current window, into `header` and `area`. Queries only the data that the strip needs.
  void draw(view_context& with, const query::track_list& tracks, const draw::rectangle& header,
            const draw::rectangle& area);
  void reset() { *this = overview_strip(); }

 private:
  void draw_streams(view_context& with, query::engine& engine, const query::track_list& tracks, time_range span,
                    const draw::rectangle& area, ImDrawList& list);
  static void draw_left_out(const view_context& with, const row_frame& where, time_range active, ImDrawList& list);
  static void draw_name(const view_context& with, const query::track_list& tracks, const draw::rectangle& header,
                        ImDrawList& list);
  void handle_mouse(view_context& with, const row_frame& where);

  static constexpr std::size_t bar_count = 4;
  struct bar {
    screen_slot<query::slices_query> query;
    std::shared_ptr<const query::slice_list> shown;
    draw::box_batch batch;
  };
  std::array<bar, bar_count> bars_;
  memory_curve memory_;
  theme_kind theme_ = theme_kind::dark;
  enum class grip { none, move, left, right, fresh } grip_ = grip::none;
  time_range grabbed_;
  time_ns grabbed_at_ = 0;
};

}  // namespace sluice::gui
