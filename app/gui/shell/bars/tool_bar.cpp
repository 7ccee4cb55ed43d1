#include "app/gui/shell/bars/tool_bar.hpp"

#include <string_view>

#include "app/gui/shell/bars/recording_bar.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
void tool_bar::draw(const view_context& with, const recorder_process& recorder, double progress) {
  draw_buttons(with, recorder, progress);
  verdict_.draw(with);
}

void tool_bar::draw_buttons(const view_context& with, const recorder_process& recorder, double progress) {
  const document* shown = with.state.active();
  placed_ = drawn_;
  drawn_ = shown != nullptr || recorder.running();
  if (!drawn_) return;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(8), with.px(4)));
  const float height = ImGui::GetFrameHeight() + with.px(8);
  const bool open = ImGui::BeginViewportSideBar(
      "##toolbar", ImGui::GetMainViewport(), ImGuiDir_Up, height,
      ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoDecoration);
  ImGui::PopStyleVar();
  if (open) {
    ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
    // The timeline is hidden by a comparison.
    const bool timeline = with.state.comparisons.front() == nullptr;
    for (const char* id : {"file.open", "selection.back", "selection.forward", "timeline.fit", "timeline.zoom_out",
                           "timeline.zoom_in"}) {
      if (!timeline && std::string_view(id).starts_with("timeline.")) continue;
      command_button(with, id, nullptr, true);
      ImGui::SameLine(0, with.px(2));
    }
    ImGui::PopStyleVar();
    ImGui::SameLine(0, with.px(14));
    if (shown != nullptr)
      tabs_.draw(with, ImGui::GetContentRegionAvail().x - recording_bar_width(with, recorder) - with.px(10));
    draw_recording_bar(with, recorder, progress);
    const ImVec2 at = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    ImGui::GetWindowDrawList()->AddLineH(at.x, at.x + size.x, at.y + size.y - 1, with.colours.line);
  }
  ImGui::End();
}

}  // namespace sluice::gui
