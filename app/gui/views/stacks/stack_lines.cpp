#include <algorithm>

#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/views/widgets.hpp"

namespace sluice::gui {
namespace {

void tip(const view_context& with, const symbols::frame_line& line) {
  if (!begin_tip(with)) return;
  ImGui::PushTextWrapPos(with.px(520));
  ImGui::TextUnformatted(symbols::text_of(line).c_str());
  if (!line.source.empty()) ImGui::TextDisabled("%s", line.source.c_str());
  ImGui::PopTextWrapPos();
  end_tip();
}

/// Name on the left, place on the right; the name is shortened if necessary.
void one_line(const view_context& with, const symbols::frame_line& line, bool named) {
  const std::string place = symbols::place_of(line);
  const float indent = with.px(12);
  const float left = ImGui::GetCursorPosX();
  const float room = ImGui::GetContentRegionAvail().x - indent;
  const float place_width = std::min(ImGui::CalcTextSize(place.c_str()).x, room * 0.55F);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (named)
    ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + with.px(3), at.y + ImGui::GetTextLineHeight()},
                                              with.colours.accent);
  ImGui::BeginGroup();
  ImGui::SetCursorPosX(left + indent);
  ImGui::PushStyleColor(ImGuiCol_Text, line.own ? with.colours.text : with.colours.muted);
  clipped_text(short_name(line), room - place_width - with.px(12));
  ImGui::PopStyleColor();
  ImGui::SameLine(indent + room - place_width);  // measured from the start of the group
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  clipped_text(place, place_width + 1);
  const bool remark = !line.missing.empty();
  if (remark || (line.own && !line.source.empty())) {
    ImGui::SetCursorPosX(left + indent * 2);
    clipped_text(remark ? line.missing : line.source, room - indent);
  }
  ImGui::PopStyleColor();
  ImGui::EndGroup();
  if (ImGui::IsItemHovered()) tip(with, line);
  ImGui::PushID(place.c_str());
  if (ImGui::IsItemHovered() && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("line");
  if (ImGui::BeginPopup("line")) {
    line_menu(with, line);
    ImGui::EndPopup();
  }
  ImGui::PopID();
}

}  // namespace

void line_menu(const view_context& with, const symbols::frame_line& line) {
  if (ImGui::MenuItem("List the blocks of this line")) {
    blocks_filter filter;
    filter.text = symbols::place_and_name_of(line);
    with.commands.invoke("blocks.show", filter);
  }
  ImGui::Separator();
  const std::string whole = line.file.empty() ? line.module : line.file + ":" + std::to_string(line.line);
  if (ImGui::MenuItem("Copy file:line", nullptr, false, !whole.empty())) ImGui::SetClipboardText(whole.c_str());
  if (ImGui::MenuItem("Copy the function's name")) ImGui::SetClipboardText(symbols::name_of(line).c_str());
  if (!line.source.empty() && ImGui::MenuItem("Copy the source line")) ImGui::SetClipboardText(line.source.c_str());
  if (ImGui::MenuItem("Open in the editor", nullptr, false, !line.file.empty()))
    with.commands.invoke("source.open", whole);
}

void line_context_menu(const view_context& with, const symbols::frame_line& line) {
  if (!ImGui::BeginPopupContextItem("line_menu")) return;
  line_menu(with, line);
  ImGui::EndPopup();
}

std::string short_name(const symbols::frame_line& line) {
  const std::string name = symbols::name_of(line);
  return line.kind == trace::frame_kind::native && !line.function.empty() ? short_name(name) : name;
}

void stack_lines(const view_context& with, const std::vector<symbols::frame_line>& stack) {
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& line : stack) lines.push_back(&line);
  const std::size_t named = symbols::line_to_name(lines);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(with.px(8), with.px(3)));
  for (std::size_t i = 0; i < stack.size(); ++i) one_line(with, stack[i], i == named && stack.size() > 1);
  ImGui::PopStyleVar();
}

}  // namespace sluice::gui
