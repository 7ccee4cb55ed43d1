#include "app/gui/views/compare/comparison_header.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

constexpr float headline_size = 18.0F;  // design pixels

float measure_number_text(const std::string& text, ImFont* font, float size) {
  ImGui::PushFont(font, size);
  const float width = ImGui::CalcTextSize(text.c_str()).x;
  ImGui::PopFont();
  return width;
}

float measure_change_number(const view_context& with, const metrics::change_number& number) {
  return std::max(measure_number_text(number.value, with.fonts.bold, headline_size),
                  measure_number_text(number.label, nullptr, small_text));
}

void draw_number(const view_context& with, const metrics::change_number& number, float width) {
  ImGui::BeginGroup();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, 0});
  const float left = ImGui::GetCursorPosX();
  const auto line = [&](const std::string& text, ImFont* font, float size, ImU32 colour) {
    ImGui::SetCursorPosX(left + width - measure_number_text(text, font, size));
    ImGui::PushFont(font, size);
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopStyleColor();
    ImGui::PopFont();
  };
  line(number.value, with.fonts.bold, headline_size, choose_colour(with.colours, number.trend));
  line(number.label, nullptr, small_text, with.colours.muted);
  ImGui::PopStyleVar();
  ImGui::EndGroup();
}

/// Draws the parts one after another, wrapped to as many lines as they need.
void draw_parts(const view_context& with, const std::vector<metrics::change_part>& parts, float right) {
  bool first = true;
  for (const metrics::change_part& each : parts) {
    const float width = ImGui::CalcTextSize((each.lead + each.value).c_str()).x;
    if (!first) {
      ImGui::SameLine(0, with.px(14));
      if (ImGui::GetCursorPosX() + width > right) ImGui::NewLine();
    }
    first = false;
    if (!each.lead.empty()) {
      ImGui::TextDisabled("%s", each.lead.c_str());
      if (each.value.empty()) continue;
      ImGui::SameLine(0, 0);
    }
    const bool plain = each.trend == metrics::change_trend::same || each.trend == metrics::change_trend::open;
    ImGui::PushStyleColor(ImGuiCol_Text, plain ? with.colours.muted : choose_colour(with.colours, each.trend));
    ImGui::TextUnformatted(each.value.c_str());
    ImGui::PopStyleColor();
  }
}

}  // namespace

ImU32 choose_colour(const theme& colours, metrics::change_trend trend) {
  switch (trend) {
    case metrics::change_trend::better:
      return colours.good;
    case metrics::change_trend::worse:
      return colours.failure;
    case metrics::change_trend::same:
    case metrics::change_trend::open:
      break;
  }
  return colours.text;
}

void draw_change(const view_context& with, const metrics::run_change& change) {
  const float gap = with.px(20);
  float numbers = 0;
  for (const metrics::change_number& each : change.numbers) numbers += measure_change_number(with, each) + gap;
  const float left = ImGui::GetCursorPosX();
  const float room = ImGui::GetContentRegionAvail().x;
  const bool beside = numbers < room * 0.5F;
  const float right = left + room - (beside ? numbers : 0);
  const float top = ImGui::GetCursorPosY();
  ImGui::BeginGroup();
  ImGui::PushFont(with.fonts.bold, headline_size);
  ImGui::PushTextWrapPos(right);
  ImGui::TextUnformatted(change.headline.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopFont();
  draw_parts(with, change.parts, right);
  ImGui::EndGroup();
  if (beside) {
    ImGui::SameLine();
    ImGui::SetCursorPos({right + gap, top});
  }
  for (std::size_t i = 0; i < change.numbers.size(); ++i) {
    const float width = measure_change_number(with, change.numbers[i]);
    if (i > 0) ImGui::SameLine(0, gap);
    if (i > 0 && ImGui::GetCursorPosX() + width > left + room + 1) ImGui::NewLine();
    draw_number(with, change.numbers[i], width);
  }
}

}  // namespace sluice::gui
