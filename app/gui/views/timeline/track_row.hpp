#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/timeline/series_lanes.hpp"
#include "app/gui/views/view.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {

/// Where a row of the timeline is drawn in this frame.
struct row_frame {
  draw::rectangle header;  ///< Label, legend and value axis.
  draw::rectangle area;    ///< The time axis; its width shows the range `visible`.
  query::time_range visible;
  bool hovered = false;  ///< The mouse is over `area`, and nothing covers it.
  ImVec2 mouse{};
  std::string_view group{};  ///< The group heading above the row; its text is not repeated.
  bool named = false;        ///< The mouse rests on `header`, and nothing covers it.
  memory_scale scale{};      ///< Of the row's device; without bytes for rows of other values.

  [[nodiscard]] double ns_per_pixel() const { return static_cast<double>(visible.length()) / area.width(); }
  [[nodiscard]] float x_of(query::time_ns time) const {
    return area.min.x + static_cast<float>(static_cast<double>(time - visible.begin) / ns_per_pixel());
  }
  [[nodiscard]] query::time_ns time_at(float x) const {
    return saturating_sum(visible.begin,
                          saturating_cast<query::time_ns>(static_cast<double>(x - area.min.x) * ns_per_pixel()));
  }
};

/// The event under the mouse, if any.
struct row_hit {
  trace::event_id event{};
  query::time_range span;
  std::uint64_t track = 0;
  query::slice what{};                    ///< As it is drawn.
  trace::block_id block{};                ///< Instead of an event, in a track of a query about blocks.
  std::optional<blocks_filter> blocks{};  ///< In a chart of memory: what the band under the mouse consists of then.
  [[nodiscard]] bool any() const { return event != trace::event_id::none || block != trace::block_id::none; }
};

/// Draws one track; holds its query and its boxes on the GPU.
class track_row {
 public:
  virtual ~track_row() = default;
  /// Height in pixels of the track in its current state.
  [[nodiscard]] virtual float height(const view_context& with, const query::track& what,
                                     const memory_scale& scale) const = 0;
  /// For memory: bytes per design pixel of its curves, for the other memory of the device; 0 until known.
  [[nodiscard]] virtual double bytes_per_pixel() const { return 0; }
  /// Where an event is, in pixels below the top of the row; none if it is not drawn as one box. O(boxes).
  [[nodiscard]] virtual std::optional<float> middle_of(trace::event_id /*event*/) const { return std::nullopt; }
  /// Draws into `list`. Shows a tooltip for the event under the mouse, and returns that event.
  virtual row_hit draw(view_context& with, query::engine& from, const query::track& what, const row_frame& where,
                       ImDrawList& list) = 0;
};

/// A row for kernels, copies and calls: one box each, nested by depth.
[[nodiscard]] std::unique_ptr<track_row> make_slice_row();
/// A row for memory, pools, bandwidth and counters: filled curves over time.
[[nodiscard]] std::unique_ptr<track_row> make_series_row();
[[nodiscard]] std::unique_ptr<track_row> make_track_row(const query::track& what);

/// Draws the label and second line at the top of a row's header. Returns the y below them.
float draw_row_label(const view_context& with, ImDrawList& list, const row_frame& where, const query::track& what,
                     float right_margin);

/// Draws one line of text at `at`, cut off with an ellipsis at `right`.
void draw_text_until(ImDrawList& list, ImVec2 at, float right, ImU32 colour, std::string_view text);

/// A short kernel name: "vectorized_add" for "void at::native::vectorized_add<4>(...)". If the first template argument
/// is a type, it is kept, because `Kernel2` of `Kernel2<cutlass_80_simt_sgemm>` alone would say nothing.
[[nodiscard]] std::string short_name(std::string_view full);

}  // namespace sluice::gui
