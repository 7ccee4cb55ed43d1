#include "app/gui/shell/panels/panel_focus.hpp"

#include <algorithm>
#include <string>

#include "imgui_internal.h"

namespace sluice::gui {

void panel_focus::add_commands(command_registry& commands) {
  for (const auto& each : panels_.views()) {
    if (each->info.place == panel_place::centre) continue;
    commands.add({.id = std::string("panel.") + each->name(),
                  .title = each->name(),
                  .group = "Panels",
                  .run =
                      [this, which = each.get()](const argument&) {
                        if (which->visible) {
                          which->visible = false;
                        } else {
                          raise(*which);
                        }
                      },
                  .checked = [which = each.get()] { return which->visible; }});
    commands.add({.id = std::string("panel.focus.") + each->name(),
                  .run = [this, which = each.get()](const argument&) { raise(*which); }});
  }
}

void panel_focus::raise(view& which) {
  which.visible = true;
  if (which.info.place == panel_place::below) ++raises_;
  raised_ = &which;
  tries_ = 4;
  follow();  // Works at once if the panel has a tab.
}

void panel_focus::follow() {
  if (raised_ == nullptr) return;
  const ImGuiWindow* window = ImGui::FindWindowByName(raised_->name());
  const bool drawn =
      window != nullptr && window->WasActive && (window->DockNode == nullptr || window->DockNode->TabBar);
  if (drawn) {
    raised_->bring_forward();
    ImGui::SetWindowFocus(raised_->name());
  }
  if (drawn || --tries_ == 0) raised_ = nullptr;
}

void panel_focus::bring_forward(topic chosen) const {
  for (const auto& each : panels_.views())
    if (each->info.tells_of == chosen && !would_cover_choices(*each)) each->bring_forward();
}

bool panel_focus::would_cover_choices(const view& which) const {
  const ImGuiWindow* window = ImGui::FindWindowByName(which.name());
  return window != nullptr && std::any_of(panels_.views().begin(), panels_.views().end(), [window](const auto& each) {
           if (!each->info.offers_choices && !each->status().choosing) return false;
           const ImGuiWindow* other = ImGui::FindWindowByName(each->name());
           return other != nullptr && other->DockNode != nullptr && other->DockNode == window->DockNode &&
                  other->DockTabIsVisible;
         });
}

}  // namespace sluice::gui
