#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "app/gui/views/timeline/track_row.hpp"
#include "core/query/types/idle_lanes.hpp"

namespace sluice::gui {

/// Chooses the range and resolution to ask for, so that panning and small zooms ask nothing new: an aligned range of a
/// power of two, with pixels that are at most as wide as those of the view. `width`: pixels of the view.
[[nodiscard]] query::idle_lanes_query choose_lanes(time_range visible, std::uint32_t width);

/// Returns the gap at `time`, or the nearest one at most `reach` ns away; null if there is none. O(log gaps).
[[nodiscard]] const query::drawn_gap* find_gap(const query::idle_lane& lane, time_ns time, time_ns reach);

/// The idle time of devices by cause, as a strip above the tracks of each device: one colored box for each gap. A box
/// that stands for several gaps is as high as the share of its time that is idle. Clicking a box selects the time range
/// of its gap.
class idle_strips {
 public:
  void reset();
  /// Asks for the lanes. Call once a frame, before `draw`.
  void ask(query::engine& engine, const row_frame& where);
  /// Draws the strip of a device into the area `where` of the current window. Returns the gap under the mouse.
  std::optional<time_range> draw(view_context& with, trace::device_id device, const row_frame& where, ImDrawList& list);
  /// The lanes drawn last, for tests; null before the first result.
  [[nodiscard]] const query::idle_lanes* shown() const { return shown_.get(); }

  static constexpr float height = 20;  ///< In design pixels.

 private:
  /// What is on the GPU for one device.
  struct uploaded {
    std::shared_ptr<const query::idle_lanes> lanes;
    theme_kind theme = theme_kind::dark;
    draw::box_batch batch;
  };
  void upload(const view_context& with, const query::idle_lane& lane, uploaded& to) const;
  void draw_labels(const view_context& with, const query::idle_lane& lane, const row_frame& where,
                   ImDrawList& list) const;
  void tip(const view_context& with, const query::drawn_gap& gap) const;

  screen_slot<query::idle_lanes_query> query_;
  std::shared_ptr<const query::idle_lanes> shown_;
  std::map<trace::device_id, uploaded> uploaded_;
};

}  // namespace sluice::gui
