#pragma once

#include <string>
#include <string_view>

#include "app/gui/shell/panels/panel_layout.hpp"
#include "app/gui/shell/panels/start_screen.hpp"
#include "app/gui/views/compare/comparison_page.hpp"

namespace sluice::gui {

/// The window below the bars. Shows the docked panels; one panel alone, which a double click on its tab maximizes; or the
/// comparison in front; the start screen if no document is ready.
/// Needs the objects that it gets, which must outlive this object.
class panel_area {
 public:
  panel_area(const panel_set& panels, panel_layout& layout, const application_options& options,
             const settings& remembered, const recorder_control& recorder)
      : panels_(panels), layout_(layout), start_(options, remembered, recorder) {}

  /// Shows only the panel with this name, as in `panel_set::names`, for pictures. Returns false if there is no such
  /// panel.
  [[nodiscard]] bool show_only(std::string_view name);
  /// Adds the command that maximizes the focused panel, or restores it.
  void add_commands(command_registry& commands, const documents& state);
  /// Shows all panels again, if one is maximized.
  void restore() { maximized_ = nullptr; }
  /// The maximized panel; null if there is none.
  [[nodiscard]] const view* maximized() const { return maximized_; }
  /// Draws the area. `bars_placed`: see `panel_layout::draw_dock`. `copied`: the name of the panel that is copied as
  /// text to the clipboard; empty: none. Returns true if the docked panels were drawn.
  bool draw(view_context& with, bool bars_placed, std::string_view copied);
  /// True while the start screen, if it is shown, is not complete.
  [[nodiscard]] bool reading() const { return start_.reading(); }
  /// True while the comparison, if it is shown, is not complete.
  [[nodiscard]] bool comparing() const { return page_.waiting(); }
  [[nodiscard]] const comparison_page& page() const { return page_; }

 private:
  void draw_base(view_context& with, bool ready, bool bars_placed, std::string_view copied);
  void draw_panel(view& which, view_context& with, bool copied);
  void draw_maximized(view_context& with, ImVec2 size, std::string_view copied);
  /// The panel that has the focus; the timeline if none has it.
  [[nodiscard]] view* find_focused() const;

  const panel_set& panels_;
  panel_layout& layout_;
  start_screen start_;
  comparison_page page_;
  view* maximized_ = nullptr;
  view* only_ = nullptr;  ///< The only panel to show; null: all visible panels.
};

}  // namespace sluice::gui
