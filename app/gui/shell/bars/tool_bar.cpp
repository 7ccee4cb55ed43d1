#include "app/gui/shell/bars/tool_bar.hpp"

#include <algorithm>
#include <string>

#include "app/gui/shell/bars/recording_bar.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// Draws the document's title and, if there is room, its length and size. Leaves `right` pixels free.
void draw_document(const view_context& with, const document& shown, float right) {
  if (ImGui::GetContentRegionAvail().x - right <= with.px(40)) return;
  ImGui::PushFont(with.fonts.bold, 0);
  const float title = ImGui::CalcTextSize(shown.title.c_str()).x;
  clipped_text(shown.title, std::min(title + 1, ImGui::GetContentRegionAvail().x - right));
  ImGui::PopFont();
  const std::string facts =
      format_time(shown.span.length()) + ",  " +
      (shown.engine ? format_bytes(static_cast<double>(shown.engine->snapshot()->file_bytes())) : std::string());
  ImGui::SameLine(0, with.px(12));
  if (ImGui::GetContentRegionAvail().x - right > ImGui::CalcTextSize(facts.c_str()).x && shown.ready())
    ImGui::TextDisabled("%s", facts.c_str());
}

}  // namespace

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
    for (const char* id : {"file.open", "selection.back", "selection.forward", "timeline.fit", "timeline.zoom_out",
                           "timeline.zoom_in"}) {
      command_button(with, id, nullptr, true);
      ImGui::SameLine(0, with.px(2));
    }
    ImGui::PopStyleVar();
    ImGui::SameLine(0, with.px(14));
    ImGui::AlignTextToFramePadding();
    if (shown != nullptr) draw_document(with, *shown, recording_bar_width(with, recorder) + with.px(10));
    draw_recording_bar(with, recorder, progress);
    const ImVec2 at = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    ImGui::GetWindowDrawList()->AddLineH(at.x, at.x + size.x, at.y + size.y - 1, with.colours.line);
  }
  ImGui::End();
}

}  // namespace sluice::gui
