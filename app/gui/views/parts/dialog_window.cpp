#include "app/gui/views/parts/dialog_window.hpp"

#include "app/gui/views/parts/widgets.hpp"
#include "imgui_internal.h"

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

void make_modal(const view_context& with) {
  ImGuiWindow* const dialog = ImGui::GetCurrentWindow();
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(viewport->Pos);
  ImGui::SetNextWindowSize(viewport->Size);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, (with.colours.background & ~IM_COL32_A_MASK) | (0xA0U << IM_COL32_A_SHIFT));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::Begin("##behind_dialog", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoFocusOnAppearing |
                   ImGuiWindowFlags_NoBringToFrontOnFocus);
  ImGuiWindow* const behind = ImGui::GetCurrentWindow();
  const bool clicked = ImGui::IsWindowHovered() && ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  ImGui::End();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  ImGui::BringWindowToDisplayBehind(behind, dialog->RootWindow);
  if (clicked) ImGui::FocusWindow(dialog);
}

void end_dialog() {
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
}

}  // namespace sluice::gui
