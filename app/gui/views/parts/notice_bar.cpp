#include "app/gui/views/parts/notice_bar.hpp"

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"

namespace sluice::gui {

void notice_bar::tell(std::string message) {
  reported_ = std::move(message);
  reported_at_ = ImGui::GetTime();
}

void notice_bar::add_failure(const error& failure) {
  notice_ = failure.to_string();
  failures_.push_back(failure);
}

bool notice_bar::dismiss() {
  reported_.clear();
  return !std::exchange(notice_, {}).empty();
}

void notice_bar::draw(const view_context& with) {
  constexpr double reported_for = 15;  // seconds; after that, the next frame removes the text
  if (ImGui::GetTime() - reported_at_ > reported_for) reported_.clear();
  const bool failed = !notice_.empty();
  std::string& shown = failed ? notice_ : reported_;
  if (shown.empty()) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(640), viewport->Size.x - with.px(24));
  ImGui::SetNextWindowPos({viewport->Pos.x + viewport->Size.x * 0.5F, viewport->Pos.y + viewport->Size.y - with.px(14)},
                          ImGuiCond_Always, {0.5F, 1});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  const ImU32 colour = failed ? with.colours.failure : with.colours.accent;
  ImGui::PushStyleColor(ImGuiCol_Border, colour);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::Begin("##notice", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(colour), "%s", failed ? icon::warning : icon::info);
  ImGui::SameLine(0, with.px(8));
  const float button = ImGui::GetFrameHeight();
  ImGui::PushTextWrapPos(width - button - with.px(24));
  ImGui::TextUnformatted(printable(shown, line_ends::keep).c_str());
  ImGui::PopTextWrapPos();
  ImGui::SameLine(width - button - with.px(10));
  if (ImGui::SmallButton(icon::close)) shown.clear();
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
}

}  // namespace sluice::gui
