#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/view.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {

/// Where a row of the timeline is drawn in this frame.
struct row_frame {
  draw::rectangle header;  ///< Label, legend and value axis.
  draw::rectangle area;    ///< The time axis; as wide as `visible`.
  query::time_range visible;
  bool hovered = false;  ///< The mouse is over `area`, and nothing lies on top.
  ImVec2 mouse{};
  std::string_view group{};  ///< The heading the row stands under: no need to repeat it.

  [[nodiscard]] double ns_per_pixel() const { return static_cast<double>(visible.length()) / area.width(); }
  [[nodiscard]] float x_of(query::time_ns time) const {
    return area.min.x + static_cast<float>(static_cast<double>(time - visible.begin) / ns_per_pixel());
  }
  [[nodiscard]] query::time_ns time_at(float x) const {
    return saturating_sum(visible.begin,
                          saturating_cast<query::time_ns>(static_cast<double>(x - area.min.x) * ns_per_pixel()));
  }
};

/// What the mouse is on.
struct row_hit {
  trace::event_id event{};
  query::time_range span;
};

/// A track as drawn: its standing question and its boxes on the GPU.
class track_row {
 public:
  virtual ~track_row() = default;
  /// In pixels, for the track as it is now.
  [[nodiscard]] virtual float height(const view_context& with, const query::track& what) const = 0;
  /// Draws into `list`. Shows a tip for what is under the mouse, and returns it.
  virtual row_hit draw(view_context& with, query::engine& from, const query::track& what, const row_frame& where,
                       ImDrawList& list) = 0;
};

/// Kernels, copies and calls, one box each, nested by depth.
[[nodiscard]] std::unique_ptr<track_row> make_slice_row();
/// Memory, pools, bandwidth and counters: curves over time as filled areas.
[[nodiscard]] std::unique_ptr<track_row> make_series_row();
[[nodiscard]] std::unique_ptr<track_row> make_track_row(const query::track& what);

/// Label and second line at the top of a row's header. Returns the y below them.
float draw_row_label(const view_context& with, ImDrawList& list, const row_frame& where, const query::track& what,
                     float right_margin);

/// One line of text from `at`, ended by an ellipsis at `right`.
void draw_text_until(ImDrawList& list, ImVec2 at, float right, ImU32 colour, std::string_view text);

/// "vectorized_add" of "void at::native::vectorized_add<4>(...)": what names a kernel in little room. Where a template takes
/// a type, the first one stays, for names like `Kernel2<cutlass_80_simt_sgemm>` say nothing without.
[[nodiscard]] std::string short_name(std::string_view full);

}  // namespace sluice::gui
