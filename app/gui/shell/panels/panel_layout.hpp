#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/panels/panel_set.hpp"
#include "app/gui/shell/settings.hpp"

namespace sluice::gui {

/// The dock that contains the panels: where each panel is, how large it is, and which tabs are in front. ImGui keeps
/// this layout; this class builds a new one on request, and reads and saves it. Needs `panels` and `remembered`, which
/// must outlive this object and the commands.
class panel_layout {
 public:
  panel_layout(panel_set& panels, settings& remembered) : panels_(panels), settings_(remembered) {}

  /// Reads the layout file. If there is none, the first frame builds a new layout. Errors: those of
  /// `settings::read_layout`, except not_found.
  [[nodiscard]] result<void> load();
  /// Saves the layout, atomically.
  void save();
  /// Adds the commands that arrange the panels.
  void add_commands(command_registry& commands);

  /// Starts a frame. Call in the window that contains the dock.
  void begin_frame();
  /// Draws the dock, and builds a new layout if one was requested. `scale`: pixels per design pixel. `bars_placed`: the
  /// area of the dock, which lags by a frame, excludes the bars above it.
  void draw_dock(ImVec2 size, float scale, bool bars_placed);
  /// Keeps the dock while no panel is drawn.
  void keep_dock();
  /// Brings the tabs of a new layout to the front, once they exist. Call after the panels have been drawn.
  void bring_tabs_forward();
  /// True until `bring_tabs_forward` has done that.
  [[nodiscard]] bool settling() const { return front_tabs_in_ > 0; }
  /// The panel that a new layout shows at this place.
  [[nodiscard]] const view& first_at(panel_place place) const;
  /// Scales the panels, whose sizes are in pixels, because their content has grown by `factor`.
  void rescale(float factor);

 private:
  /// Requests a new layout with the panels `below` and `right` in front. The panels below the timeline get `share` of
  /// the height.
  void arrange(const char* below, const char* right, float share);
  void build(ImVec2 size, float scale);

  static constexpr float usual_below_share = 0.325F;

  panel_set& panels_;
  settings& settings_;
  unsigned dock_ = 0;                      ///< ImGui's id of the dock; 0 if it has not been drawn yet.
  bool wanted_ = true;                     ///< A new layout is requested.
  float below_share_ = usual_below_share;  ///< Share of the height that a new layout gives to the panels below the
                                           ///< timeline.
  std::vector<std::string> in_front_;      ///< Names of the panels whose tabs a new layout brings to the front. In
                                           ///< other places it shows the first tab.
  int front_tabs_in_ = 0;                  ///< Number of frames until the tabs are brought to the front.
};

}  // namespace sluice::gui
