#include "app/gui/shell/appearance.hpp"

#include <algorithm>

namespace sluice::gui {

appearance::appearance(settings& remembered, float display_scale)
    : settings_(remembered), fonts_(load_typefaces()), display_scale_(display_scale), applied_scale_(scale()) {
  apply_style(colours(), applied_scale_);
}

void appearance::add_commands(command_registry& commands) {
  static constexpr command_row<appearance*> rows[] = {
      {.id = "window.theme",
       .title = "Light theme",
       .group = "View",
       .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_L},
       .run =
           [](auto& at, auto&) {
             at->use_theme(at->settings_.theme == theme_kind::dark ? theme_kind::light : theme_kind::dark);
             at->settings_.save();
           },
       .checked = [](auto& at) { return at->settings_.theme == theme_kind::light; }},
      {.id = "window.larger",
       .title = "Larger text",
       .group = "View",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_Equal, ImGuiMod_Ctrl | ImGuiKey_KeypadAdd},
       .run = [](auto& at, auto&) { at->resize_text(1.1F); }},
      {.id = "window.smaller",
       .title = "Smaller text",
       .group = "View",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_Minus, ImGuiMod_Ctrl | ImGuiKey_KeypadSubtract},
       .run = [](auto& at, auto&) { at->resize_text(1 / 1.1F); }},
      {.id = "window.normal_text",
       .title = "Default text size",
       .group = "View",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_0},
       .run = [](auto& at, auto&) { at->resize_text(0); }}};
  commands.add(rows, this);
}

void appearance::resize_text(float factor) {
  settings_.text_scale = factor == 0 ? 1.0F : std::clamp(settings_.text_scale * factor, 0.7F, 2.5F);
  settings_.save();
  changed_ = true;
}

void appearance::set_display_scale(float scale) {
  if (scale == display_scale_) return;
  display_scale_ = scale;
  changed_ = true;
}

void appearance::use_theme(theme_kind kind) {
  settings_.theme = kind;
  changed_ = true;
}

float appearance::apply_changes() {
  if (!changed_) return 1;
  changed_ = false;
  const float before = applied_scale_;
  applied_scale_ = scale();
  apply_style(colours(), applied_scale_);
  return applied_scale_ / before;
}

}  // namespace sluice::gui
