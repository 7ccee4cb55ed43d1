#include "app/gui/views/summary/verdict_header.hpp"

#include <algorithm>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

/// Size of the headline and of the numbers, in design pixels.
constexpr float large_text = 18.0F;

void wrapped(const std::string& text) {
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
}

float measure(const std::string& text, ImFont* font, float size) {
  ImGui::PushFont(font, size);
  const float width = ImGui::CalcTextSize(text.c_str()).x;
  ImGui::PopFont();
  return width;
}

void draw_numbers(const view_context& with, const std::vector<metrics::verdict_number>& numbers) {
  const float left = ImGui::GetCursorPosX();
  const float right = left + ImGui::GetContentRegionAvail().x;
  float x = left;
  for (const metrics::verdict_number& each : numbers) {
    const float width =
        std::max(measure(each.value, with.fonts.bold, large_text), measure(each.label, nullptr, small_text));
    if (x > left && x + width <= right)
      ImGui::SameLine(x);
    else
      x = left;
    ImGui::BeginGroup();
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, 0});
    ImGui::PushFont(with.fonts.bold, large_text);
    ImGui::TextUnformatted(each.value.c_str());
    ImGui::PopFont();
    ImGui::PushFont(nullptr, small_text);
    ImGui::TextDisabled("%s", each.label.c_str());
    ImGui::PopFont();
    ImGui::PopStyleVar();
    ImGui::EndGroup();
    x += width + with.px(16);
  }
}

}  // namespace

void draw_verdict(const view_context& with, const metrics::run_verdict& verdict) {
  ImGui::PushFont(with.fonts.bold, large_text);
  wrapped(verdict.headline);
  ImGui::PopFont();
  if (!verdict.opportunity.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.warning);
    wrapped(verdict.opportunity);
    ImGui::PopStyleColor();
  }
  draw_numbers(with, verdict.numbers);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  for (const std::string& each : verdict.missing) wrapped(format::capital(format::in_window(each)) + ".");
  ImGui::PopStyleColor();
  ImGui::Spacing();
}

}  // namespace sluice::gui
