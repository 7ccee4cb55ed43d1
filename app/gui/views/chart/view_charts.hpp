#pragma once

#include <map>
#include <string>

#include "app/gui/views/chart/chart_layout.hpp"
#include "app/gui/views/parts/view.hpp"

/// The drawing of charts, and what the user does to them.
namespace sluice::gui {

/// What `view_charts::draw` drew.
struct drawn_chart {
  chart_layout at;
  bool hovered = false;                    ///< The mouse is over the chart or the rows around it.
  std::optional<chart_pointer> pointer{};  ///< Set while the mouse is over the area of the values.
};

/// The sizes of charts in the current frame.
[[nodiscard]] chart_metrics get_chart_metrics(const view_context& with);

/// Draws the charts of one view, and holds the scale of values that the user chose for each. Boxes are drawn without
/// smooth edges, and curves as boxes, because on software GL overdraw is the cost of a frame. A right click opens the
/// menu of the panel, unless the model handles it.
class view_charts {
 public:
  /// Draws the chart at the cursor; leaves the space empty if the model has no series. `id`: an ImGui id, such as
  /// "##durations". Calls `model.fit` if `model.scales` is set.
  drawn_chart draw(const view_context& with, const char* id, chart_model& model, ImVec2 size);

 private:
  std::map<std::string, value_scale> scales_;
};

}  // namespace sluice::gui
