#include <algorithm>
#include <array>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"
#include "core/symbols/untrusted_symbols.hpp"

namespace sluice::gui {
namespace {

void tip(const view_context& with, const symbols::frame_line& line) {
  if (!begin_tip(with)) return;
  ImGui::PushTextWrapPos(with.px(520));
  ImGui::TextUnformatted(format::in_window(symbols::to_text(line)).c_str());
  if (!line.source.empty()) ImGui::TextDisabled("%s", line.source.c_str());
  ImGui::PopTextWrapPos();
  end_tip();
}

bool is_untrusted(const symbols::frame_line& line) { return line.missing.ends_with(symbols::untrusted_symbols); }

/// The text below a stack line: why its name is missing, or its source text.
std::string_view second_line(const symbols::frame_line& line) {
  if (is_untrusted(line)) return {};  // A note below the stack explains this once.
  if (!line.missing.empty()) return line.missing;
  return line.own ? std::string_view(line.source) : std::string_view();
}

constexpr float place_share = 0.55F;  ///< Maximum share of a line's width that the place may take.

/// The width, for a tooltip, with which no line is shortened. Limited, so that the tooltip stays readable.
float width_of_lines(const view_context& with, const std::vector<symbols::frame_line>& stack) {
  float most = with.px(120);
  for (const symbols::frame_line& line : stack) {
    const float name = ImGui::CalcTextSize(short_name(line).c_str()).x;
    const float place = ImGui::CalcTextSize(symbols::get_place(line).c_str()).x;
    // Neither name nor place may take more than its share: see `one_line`.
    most = std::max({most, name + place + with.px(12), place / place_share});
  }
  return std::min(most + with.px(12) + 1, std::min(with.px(640), ImGui::GetMainViewport()->WorkSize.x - with.px(40)));
}

/// Draws the name on the left, and the place at the right end of `width`. Shortens both if necessary.
void one_line(const view_context& with, const symbols::frame_line& line, float width, bool named) {
  const std::string place = symbols::get_place(line);
  const float indent = with.px(12);
  const float left = ImGui::GetCursorPosX();
  const float room = width - indent;
  const float place_width = std::min(ImGui::CalcTextSize(place.c_str()).x, room * place_share);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (named)
    ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + with.px(3), at.y + ImGui::GetTextLineHeight()},
                                              with.colours.accent);
  ImGui::BeginGroup();
  ImGui::SetCursorPosX(left + indent);
  ImGui::PushStyleColor(ImGuiCol_Text, line.own ? with.colours.text : with.colours.muted);
  clipped_text(short_name(line), room - place_width - with.px(12));
  ImGui::PopStyleColor();
  ImGui::SameLine(indent + room - place_width);  // the offset is measured from the start of the group
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  clipped_text(place, place_width + 1);
  if (const std::string_view more = second_line(line); !more.empty()) {
    ImGui::SetCursorPosX(left + indent * 2);
    clipped_text(more, room - indent);
  }
  ImGui::PopStyleColor();
  ImGui::EndGroup();
}

}  // namespace

void stack_lines(const view_context& with, const std::vector<symbols::frame_line>& stack, view_tables* tables) {
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& line : stack) lines.push_back(&line);
  const std::size_t named = symbols::line_to_name(lines);
  table_of<symbols::frame_line> table("Stack", stack);
  table.text("function", "function", [](const auto& each) { return symbols::get_name(each); });
  table.text("place", "file", [](const auto& each) {
    return table_cell::words(symbols::get_place(each), each.file.empty() ? each.module : each.file);
  });
  table.count("", "line", [](const auto& each) { return each.line > 0 ? std::optional(each.line) : std::nullopt; });
  table.text("source", "source", [](const auto& each) { return each.source; });
  table.leads_to([](const auto& each) { return row_target{.line = each}; });
  constexpr float gap = 3;  // design pixels
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(with.px(8), with.px(gap)));
  ImGui::PushID("stack");
  const float width = tables == nullptr ? width_of_lines(with, stack) : ImGui::GetContentRegionAvail().x;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (tables == nullptr) {
      one_line(with, stack[i], width, i == named && stack.size() > 1);
      continue;
    }
    ImGui::PushID(static_cast<int>(i));
    const ImVec2 begin = ImGui::GetCursorPos();
    const float line = ImGui::GetTextLineHeight();
    tables->item(with, table, i, {0, second_line(stack[i]).empty() ? line : line * 2 + with.px(gap)});
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) tip(with, stack[i]);
    ImGui::SetCursorPos(begin);
    one_line(with, stack[i], width, i == named && stack.size() > 1);
    ImGui::PopID();
  }
  ImGui::PopID();
  ImGui::PopStyleVar();
  if (tables == nullptr || std::none_of(stack.begin(), stack.end(), is_untrusted)) return;
  remark(with, "Symbols are not resolved: this recording was made on another machine.");
  if (link(with, "Add source folder...")) with.commands.invoke("file.sources_from");
}

std::string short_name(const symbols::frame_line& line) {
  const std::string name = symbols::get_name(line);
  return line.kind == trace::frame_kind::native && !line.function.empty() ? short_name(name) : name;
}

}  // namespace sluice::gui
