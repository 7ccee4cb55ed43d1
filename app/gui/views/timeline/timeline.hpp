#pragma once

#include <map>
#include <set>

#include "app/gui/views/overview.hpp"
#include "app/gui/views/timeline/steps_strip.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {

/// The tracks of a recording on one time axis, below the overview and a ruler.
class timeline_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Timeline"; }
  void draw(view_context& with) override;
  void reset() override;
  [[nodiscard]] bool scrolls() const override { return false; }
  [[nodiscard]] bool uses_arrows() const override { return true; }
  [[nodiscard]] panel_place place() const override { return panel_place::centre; }
  void add_commands(const command_home& home) override;  ///< In timeline_commands.cpp.
  [[nodiscard]] std::optional<query::time_ns> hovered_time() const override { return hovered_time_; }

  /// The area of the time axis in the last frame; tests aim the mouse with it.
  [[nodiscard]] const draw::rectangle& axis_area() const { return axis_area_; }
  /// The tracks drawn in the last frame, at least in part; for tests.
  [[nodiscard]] const std::vector<std::uint64_t>& tracks_on_screen() const { return on_screen_; }

 private:
  struct shared_row {
    std::unique_ptr<track_row> row;
  };
  /// Draws the steps below `y`; returns the y where they end.
  float draw_steps(view_context& with, const query::track_list& tracks, const row_frame& where, float y);
  void draw_losses(view_context& with, const query::track_list& tracks, const row_frame& where, ImDrawList& list);
  static void draw_provisional(const view_context& with, const query::track_list& tracks, const row_frame& place,
                               ImDrawList& list);
  void draw_ruler(view_context& with, const row_frame& where, const format::time_axis& axis);
  void draw_tracks(view_context& with, const query::track_list& tracks, const row_frame& where,
                   const format::time_axis& axis);
  float draw_group(view_context& with, const row_frame& where, float y, const std::string& key,
                   const std::string& title, std::string_view detail, ImDrawList& list);
  void draw_range(view_context& with, const row_frame& where, ImDrawList& list);
  void draw_markers(view_context& with, const row_frame& where, ImDrawList& list);
  static void handle_arrows(const view_context& with);
  static void scroll_to(float from, float to, const row_frame& where);
  void handle_mouse(view_context& with, const row_frame& where, const row_hit& hit);

  screen_slot<query::tracks_question> tracks_question_;
  screen_slot<query::details_question> details_question_;
  overview_strip overview_;
  std::map<std::uint64_t, shared_row> rows_;
  std::map<std::uint64_t, steps_strip> steps_;
  std::set<std::string> folded_;
  std::vector<std::uint64_t> on_screen_;
  std::uint64_t revealed_ = 0;  ///< Number of the last `reveal_request` that was followed.
  std::optional<query::time_ns> hovered_time_;
  draw::rectangle axis_area_{};
  float header_width_ = 208;  // design pixels
  std::optional<query::time_ns> drag_from_;
  bool dragging_ = false;
  float pan_from_ = 0;
  query::time_range pan_start_;
};

}  // namespace sluice::gui
