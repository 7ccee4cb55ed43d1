#include "app/gui/views/parts/view.hpp"

#include "imgui_internal.h"

namespace sluice::gui {

const followed_item& view_context::followed() const {
  static const followed_item nothing;
  return item != nullptr ? *item : nothing;
}

void view::bring_forward() const {
  const ImGuiWindow* tab = ImGui::FindWindowByName(name());
  if (tab == nullptr || tab->DockNode == nullptr || tab->DockNode->TabBar == nullptr) return;
  tab->DockNode->TabBar->NextSelectedTabId = tab->TabId;
  // The tab of the focused window stays in front, so move the focus together with the tab.
  const ImGuiWindow* focused = ImGui::GetCurrentContext()->NavWindow;
  if (focused != nullptr && focused->RootWindow->DockNode == tab->DockNode) ImGui::SetWindowFocus(name());
}

}  // namespace sluice::gui
