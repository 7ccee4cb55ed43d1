#pragma once

#include <array>
#include <memory>

#include "app/gui/views/timeline/memory_curve.hpp"
#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// A strip with the whole recording: memory in use as an area under a line of what is reserved, stream activity as thin
/// bars, and the range that the timeline shows. The time before and after all work is hatched. Drag the range to move it; drag an edge, or outside it, to choose another; double-click to show all.
class overview_strip {
 public:
  /// Draws in the current window, over `header` and `area`. Queries only what the strip needs.
  void draw(view_context& with, const query::track_list& tracks, const draw::rectangle& header,
            const draw::rectangle& area);
  void reset() { *this = overview_strip(); }

 private:
  void draw_streams(view_context& with, query::engine& from, const query::track_list& tracks, query::time_range span,
                    const draw::rectangle& area, ImDrawList& list);
  static void draw_left_out(const view_context& with, const row_frame& where, query::time_range active,
                            ImDrawList& list);
  static void draw_name(const view_context& with, const query::track_list& tracks, const draw::rectangle& header,
                        ImDrawList& list);
  void handle_mouse(view_context& with, const row_frame& where);

  static constexpr std::size_t bar_count = 4;
  struct bar {
    screen_slot<query::slices_question> question;
    std::shared_ptr<const query::slice_list> shown;
    draw::box_batch batch;
  };
  std::array<bar, bar_count> bars_;
  memory_curve memory_;
  theme_kind theme_ = theme_kind::dark;
  enum class grip { none, move, left, right, fresh } grip_ = grip::none;
  query::time_range grabbed_;
  query::time_ns grabbed_at_ = 0;
};

}  // namespace sluice::gui
