#pragma once

#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/window/theme.hpp"

namespace sluice::gui {

/// The theme, the typefaces and the size of everything that the window draws. Create it after ImGui's context. Needs
/// `remembered`, which must outlive this object and the commands, for the user's theme and text size.
class appearance {
 public:
  /// `display_scale`: the scale factor of the display.
  appearance(settings& remembered, float display_scale);

  /// Adds the commands for the theme and the text size.
  void add_commands(command_registry& commands);
  [[nodiscard]] const theme& colours() const { return get_theme(settings_.theme); }
  [[nodiscard]] const typefaces& fonts() const { return fonts_; }
  /// Pixels per design pixel: the display's scale times the user's text scale.
  [[nodiscard]] float scale() const { return display_scale_ * settings_.text_scale; }
  void set_display_scale(float scale);
  void use_theme(theme_kind kind);
  /// Makes ImGui use the current theme and scale if they have changed. Returns the factor by which `scale` has changed
  /// since the last call; 1 if it has not. Call before each frame.
  [[nodiscard]] float apply_changes();

 private:
  /// Multiplies the size of text by `factor`; 0: restores the default size.
  void resize_text(float factor);
  settings& settings_;
  typefaces fonts_;
  float display_scale_;
  float applied_scale_;  ///< The value of `scale` that ImGui uses.
  bool changed_ = false;
};

}  // namespace sluice::gui
