#include "app/gui/shell/dialogs/dialog_window.hpp"

#include "app/gui/views/parts/widgets.hpp"

namespace sluice::gui {

bool begin_dialog(const view_context& with, const char* title, bool* open) {
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  keep_on_screen(with, title);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::PushStyleColor(ImGuiCol_TitleBg, with.colours.raised);
  ImGui::PushStyleColor(ImGuiCol_TitleBgActive, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  return ImGui::Begin(title, open,
                      ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoDocking |
                          ImGuiWindowFlags_NoSavedSettings);
}

void end_dialog() {
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
}

}  // namespace sluice::gui
