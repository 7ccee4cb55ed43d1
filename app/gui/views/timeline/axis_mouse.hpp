#pragma once

#include <optional>

#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// The mouse over the tracks: the wheel zooms and pans, dragging selects a range, dragging with Shift measures time
/// without selecting a range, and clicking selects an event.
class axis_mouse {
 public:
  /// Discards times of the previous document.
  void reset();
  /// Handles the mouse in the area `where.area`. `hit`: the event under the mouse. Call in the window of the tracks, and
  /// after all tracks have been drawn.
  void handle(const view_context& with, const row_frame& where, const row_hit& hit);
  /// Draws the selected range, or the range that the user is selecting.
  void draw_range(const view_context& with, const row_frame& where, ImDrawList& list) const;
  /// Draws the measured range, with its length and the reciprocal of the length as a rate per second.
  void draw_measured(const view_context& with, const row_frame& where, ImDrawList& list) const;

  /// True while the user is selecting a range.
  [[nodiscard]] bool selecting() const { return dragging_; }
  /// The time range measured by dragging with Shift.
  [[nodiscard]] const std::optional<time_range>& measured() const { return measured_; }
  /// The time under the mouse in the last frame.
  [[nodiscard]] const std::optional<time_ns>& hovered_time() const { return hovered_time_; }

 private:
  static void turn_wheel(const view_context& with, const row_frame& where, bool over_axis);
  void pan(const view_context& with, const row_frame& where, bool over_axis);
  void measure(const row_frame& where);
  void select(const view_context& with, const row_frame& where, const row_hit& hit);
  /// The range from the start of the drag to the mouse.
  [[nodiscard]] time_range dragged_range(const row_frame& where) const;

  std::optional<time_ns> hovered_time_;
  std::optional<time_ns> drag_from_;
  bool dragging_ = false;
  bool measures_ = false;  ///< The current drag measures time instead of selecting a range.
  std::optional<time_range> measured_;
  float pan_from_ = 0;  ///< The horizontal position at which panning started; 0: the user is not panning.
  time_range pan_start_;
};

}  // namespace sluice::gui
