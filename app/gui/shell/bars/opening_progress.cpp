#include "app/gui/shell/bars/opening_progress.hpp"

#include <algorithm>

#include "app/gui/views/parts/widgets.hpp"

namespace sluice::gui {

void draw_opening_progress(const view_context& with, bool above_notice) {
  const document_loader& loader = with.state.loader();
  const float done = loader.progress();
  if (done <= 0) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(420), viewport->Size.x - with.px(24));
  const float notice_height = above_notice ? with.px(56) : 0;
  ImGui::SetNextWindowPos(
      {viewport->Pos.x + viewport->Size.x * 0.5F, viewport->Pos.y + viewport->Size.y - with.px(14) - notice_height},
      ImGuiCond_Always, {0.5F, 1});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::Begin("##import", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoFocusOnAppearing);
  clipped_text(loader.words(), width - with.px(24));
  const float button = ImGui::CalcTextSize("Cancel").x + with.px(44);
  ImGui::PushStyleColor(ImGuiCol_PlotHistogram,
                        ImGui::ColorConvertU32ToFloat4(mix(with.colours.accent, with.colours.background, 0.55F)));
  ImGui::ProgressBar(done, {width - button - with.px(32), ImGui::GetFrameHeight()});
  ImGui::PopStyleColor();
  ImGui::SameLine();
  command_button(with, "file.cancel_opening", "Cancel");
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace sluice::gui
