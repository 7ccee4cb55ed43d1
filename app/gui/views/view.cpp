#include "app/gui/views/view.hpp"

#include "imgui_internal.h"

namespace sluice::gui {

void view::bring_forward() const {
  const ImGuiWindow* tab = ImGui::FindWindowByName(name());
  if (tab == nullptr || tab->DockNode == nullptr || tab->DockNode->TabBar == nullptr) return;
  tab->DockNode->TabBar->NextSelectedTabId = tab->TabId;
}

}  // namespace sluice::gui
