#pragma once

#include <memory>

#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// The steps of a process as a strip below the time ruler: one box per step, which contains the step's number if that
/// fits. Clicking a step selects its time range; double-clicking a step zooms to it.
class steps_strip {
 public:
  /// Draws into the area `where` of the current window.
  void draw(view_context& with, query::engine& engine, const query::track& track, const row_frame& where);

  static constexpr float height = 20;  ///< In design pixels.

 private:
  void upload(const view_context& with);
  void draw_labels(const view_context& with, const row_frame& where, ImDrawList& list) const;
  [[nodiscard]] const query::slice* under_mouse(const row_frame& where) const;

  screen_slot<query::slices_query> query_;
  std::shared_ptr<const query::slice_list> shown_;
  draw::box_batch batch_;
  theme_kind theme_ = theme_kind::dark;
};

}  // namespace sluice::gui
