#pragma once

#include <memory>

#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// The steps of a process as a ruler under the time's: a box for each, with its number where there is room. Click one to
/// select its time, double-click to fill the view with it.
class steps_strip {
 public:
  /// Draws over `where` in the current window.
  void draw(view_context& with, query::engine& from, const query::track& what, const row_frame& where);

  static constexpr float height = 20;  ///< Design pixels.

 private:
  void upload(const view_context& with);
  void draw_labels(const view_context& with, const row_frame& where, ImDrawList& list) const;
  [[nodiscard]] const query::slice* under_mouse(const row_frame& where) const;

  screen_slot<query::slices_question> question_;
  std::shared_ptr<const query::slice_list> shown_;
  draw::box_batch batch_;
  theme_kind theme_ = theme_kind::dark;
};

}  // namespace sluice::gui
