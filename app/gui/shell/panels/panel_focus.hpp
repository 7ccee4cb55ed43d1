#pragma once

#include "app/gui/shell/panels/panel_set.hpp"

namespace sluice::gui {

/// Brings panels to the front and gives them the focus. Needs `panels`, which must outlive this object and the
/// commands.
class panel_focus {
 public:
  explicit panel_focus(const panel_set& panels) : panels_(panels) {}

  /// Adds the commands that show, hide and focus each panel.
  void add_commands(command_registry& commands);
  /// Shows a panel and gives it the focus. This takes a few frames, because a hidden panel has no tab until it has been
  /// drawn.
  void raise(view& which);
  /// Continues what `raise` has started. Call once per frame.
  void follow();
  /// How often panels below the timeline were raised.
  [[nodiscard]] std::size_t raised() const { return raises_; }
  /// True until the panel that was passed to `raise` has the focus.
  [[nodiscard]] bool pending() const { return raised_ != nullptr; }
  /// Brings the panels that show details of the user's choice to the front, except any panel that would cover the one
  /// in which the user made the choice.
  void bring_forward(topic chosen) const;

 private:
  [[nodiscard]] bool would_cover_choices(const view& which) const;

  const panel_set& panels_;
  view* raised_ = nullptr;  ///< The panel to focus.
  std::size_t raises_ = 0;
  int tries_ = 0;  ///< Number of frames left in which to focus `raised_`.
};

}  // namespace sluice::gui
