#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/lanes/series_lanes.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/timeline/lane_survey.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {

/// A request for a device's memory that failed because memory ran out, as the device's lane of memory shows it.
struct memory_failure {
  time_ns time = 0;
  std::uint64_t asked = 0;     ///< Bytes requested; 0: no request failed.
  std::uint64_t short_by = 0;  ///< Bytes missing; 0 if unknown.
  std::uint64_t limit = 0;     ///< The most bytes that the program could have; 0 if unknown.
  std::string limit_label;
  std::string label;  ///< Who asked for how much.
  friend bool operator==(const memory_failure&, const memory_failure&) = default;
};

/// The position of a row of the timeline in this frame.
struct row_frame {
  draw::rectangle header;  ///< Contains the label, the legend and the value axis.
  draw::rectangle area;    ///< Contains the chart. Its width corresponds to the range `visible`.
  time_range visible;
  bool hovered = false;  ///< The mouse is over `area`, and nothing covers it.
  ImVec2 mouse{};
  std::string_view group{};  ///< The heading of the row's group. The row does not repeat text of this heading.
  bool named = false;        ///< The mouse is over `header`, and nothing covers it.
  memory_scale scale{};      ///< The memory scale of the row's device. Unset for rows that do not show memory.
  memory_failure failed{};   ///< For device memory.
  std::uint64_t blocks = 0;  ///< The number of blocks in the recording; 0: not known yet.
  lane_content content{};    ///< What is in the row's lanes. Lanes in which nothing is are not drawn.

  [[nodiscard]] double ns_per_pixel() const { return static_cast<double>(visible.length()) / area.width(); }
  [[nodiscard]] float to_x(time_ns time) const {
    return area.min.x + static_cast<float>(static_cast<double>(time - visible.begin) / ns_per_pixel());
  }
  [[nodiscard]] time_ns time_at(float x) const {
    return saturating_sum(visible.begin,
                          saturating_cast<time_ns>(static_cast<double>(x - area.min.x) * ns_per_pixel()));
  }
};

/// The event under the mouse, if there is one.
struct row_hit {
  trace::event_id event{};
  time_range span;
  std::uint64_t track = 0;
  query::slice slice{};                   ///< The slice as it is drawn.
  trace::block_id block{};                ///< Set instead of `event` in the track of a query about blocks.
  std::optional<blocks_filter> blocks{};  ///< In a memory chart: the blocks that are in the band under the mouse at the
                                          ///< time under the mouse.
  std::optional<time_range> gap{};        ///< In a strip of idle time: the gap under the mouse.
  [[nodiscard]] bool any() const { return event != trace::event_id::none || block != trace::block_id::none; }
};

/// Draws one track. Owns the track's query, and its boxes on the GPU.
class track_row {
 public:
  virtual ~track_row() = default;
  /// Height of the track in its current state, in pixels.
  [[nodiscard]] virtual float height(const view_context& with, const query::track& track,
                                     const memory_scale& scale) const = 0;
  /// For memory tracks: the number of bytes per design pixel of the track's curves, which the device's other memory
  /// tracks use too; 0 until known.
  [[nodiscard]] virtual double bytes_per_pixel() const { return 0; }
  /// The vertical position of an event, in pixels below the top of the row; none if the event is not drawn as its own
  /// box. O(boxes).
  [[nodiscard]] virtual std::optional<float> find_middle(trace::event_id /*event*/) const { return std::nullopt; }
  /// Draws the track into `list`. Shows a tooltip for the event under the mouse, and returns that event.
  virtual row_hit draw(view_context& with, query::engine& engine, const query::track& track, const row_frame& where,
                       ImDrawList& list) = 0;
};

/// Creates a row for kernels, copies and calls: each is drawn as one box, nested by depth.
[[nodiscard]] std::unique_ptr<track_row> make_slice_row();
/// Creates a row for memory, pools, bandwidth and counters: filled curves over time.
[[nodiscard]] std::unique_ptr<track_row> make_series_row();
[[nodiscard]] std::unique_ptr<track_row> make_track_row(const query::track& track);

/// Draws the label and the second line of text at the top of a row's header. Returns the y coordinate below them.
float draw_row_label(const view_context& with, ImDrawList& list, const row_frame& where, const query::track& track,
                     float right_margin);

/// Draws one line of text at `at`. If the text extends past `right`, cuts it off with an ellipsis.
void draw_text_until(ImDrawList& list, ImVec2 at, float right, ImU32 colour, std::string_view text);

/// A short form of a kernel's name: "vectorized_add" for "void at::native::vectorized_add<4>(...)". If the first
/// template argument is a type, keeps it, because `Kernel2` alone would not identify `Kernel2<cutlass_80_simt_sgemm>`.
[[nodiscard]] std::string short_name(std::string_view full);

}  // namespace sluice::gui
