#include "app/gui/shell/bars/tab_strip.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/shell/bars/tab_layout.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

constexpr float least_tab = 64;  // design pixels
constexpr float cross = 20;      // design pixels; the width of the button that closes a tab
constexpr float tab_margin = 10;

float measure_tab_text(std::string_view text) { return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x; }

}  // namespace

std::vector<tab_strip::tab> tab_strip::list_tabs() const {
  const tab_titles titles(session_);
  const compared_documents* front = session_.comparisons.front();
  std::vector<tab> tabs;
  for (const auto& each : session_.all()) {
    std::string about = printable(each->path);
    if (each->ready())
      about += "\n" + format_time(each->span.length()) + ", " + format_bytes(each->engine->snapshot()->file_bytes());
    tabs.push_back(
        {each->id, {}, titles.get(each->id), std::move(about), front == nullptr && each.get() == session_.active()});
  }
  for (const compared_documents& each : session_.comparisons.all())
    tabs.push_back({document_id::none, each, titles.get(each, icon::fit), titles.get(each, "compared with"),
                    front != nullptr && *front == each});
  return tabs;
}

void tab_strip::show(const tab& which) {
  if (which.compared) return session_.comparisons.open(*which.compared);
  session_.activate(which.document);
}

void tab_strip::close(const view_context& with, const tab& which) {
  if (which.compared) return session_.comparisons.close(*which.compared);
  with.commands.invoke("file.close", selection{which.document});
}

void tab_strip::draw(const view_context& with, float room) {
  const std::vector<tab> tabs = list_tabs();
  std::vector<float> natural;
  std::size_t front = 0;
  natural.reserve(tabs.size());
  for (const tab& each : tabs) {
    if (each.front) front = natural.size();
    natural.push_back(measure_tab_text(each.title) + with.px(2 * tab_margin + cross));
  }
  const float wide = ImGui::CalcTextSize("Compare with...").x + with.px(90);
  const float narrow = 2 * (ImGui::GetFrameHeight() * 1.15F + with.px(4));
  const bool is_narrow =
      room - wide < with.px(least_tab) * static_cast<float>(std::min<std::size_t>(tabs.size(), 3)) * 2;
  const float list = ImGui::GetFrameHeight() * 1.15F + with.px(4);
  const tab_layout placed = lay_out_tabs(natural, room - (is_narrow ? narrow : wide), with.px(least_tab), list, front);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  const ImVec4 flat(0, 0, 0, 0);
  ImGui::PushStyleColor(ImGuiCol_Button, flat);
  for (const placed_tab& each : placed.tabs) {
    draw_tab(with, tabs[each.tab], std::floor(each.width));
    ImGui::SameLine(0, with.px(2));
  }
  if (placed.lists_others) {
    draw_list(tabs);
    ImGui::SameLine(0, with.px(2));
  }
  draw_buttons(with, is_narrow);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
}

void tab_strip::draw_tab(const view_context& with, const tab& which, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetFrameHeight();
  ImGui::PushID(static_cast<int>(which.document));
  if (which.compared)
    ImGui::PushID(static_cast<int>(which.compared->before) * 4099 + static_cast<int>(which.compared->after));
  ImGui::SetNextItemAllowOverlap();
  const bool clicked = ImGui::InvisibleButton("tab", {width, height}, ImGuiButtonFlags_EnableNav);
  const bool over = ImGui::IsItemHovered();
  const bool closed = over && ImGui::IsMouseClicked(ImGuiMouseButton_Middle);
  if (clicked) show(which);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 end(at.x + width, at.y + height);
  if (which.front || over)
    list.AddRectFilled(at, end, which.front ? with.colours.header : with.colours.hover, with.px(4),
                       ImDrawFlags_RoundTop);
  if (which.front) list.AddRectFilled({at.x, end.y - with.px(2)}, end, with.colours.accent);
  const float text_width = width - with.px(2 * tab_margin + cross) + 1;
  const std::string text = cut_middle(which.title, text_width, measure_tab_text);
  list.AddText({at.x + with.px(tab_margin), std::floor(at.y + (height - ImGui::GetTextLineHeight()) * 0.5F)},
               which.front ? with.colours.text : with.colours.muted, text.c_str());
  if (over && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("%s", which.about.c_str());
  ImGui::SetCursorScreenPos({end.x - with.px(cross + 4), at.y});
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  const bool crossed = ImGui::Button((std::string(icon::close) + "###close").c_str(), {with.px(cross), height});
  ImGui::PopStyleColor();
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, height});  // Later items follow the tab, not its cross.
  if (which.compared) ImGui::PopID();
  ImGui::PopID();
  if (closed || crossed) close(with, which);
}

void tab_strip::draw_list(const std::vector<tab>& tabs) {
  if (ImGui::Button((std::string(icon::unfold) + "###all tabs").c_str(), {ImGui::GetFrameHeight() * 1.15F, 0}))
    ImGui::OpenPopup("all tabs");
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("All %d tabs", static_cast<int>(tabs.size()));
  if (!ImGui::BeginPopup("all tabs")) return;
  for (std::size_t i = 0; i < tabs.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::MenuItem(make_label(tabs[i].title).c_str(), nullptr, tabs[i].front)) show(tabs[i]);
    ImGui::PopID();
  }
  ImGui::EndPopup();
}

void tab_strip::draw_buttons(const view_context& with, bool narrow) {
  if (ImGui::Button("+###open another", {ImGui::GetFrameHeight() * 1.15F, 0})) with.commands.invoke("file.open");
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Open another recording  (Ctrl+O)");
  ImGui::SameLine(0, with.px(2));
  if (session_.comparisons.front() != nullptr) {
    command_button(with, "compare.swap_recordings", "Swap", narrow);
    return;
  }
  if (session_.all().size() < 2) {
    command_button(with, "compare.with", "Compare with...", narrow);
    return;
  }
  const std::string face = std::string(icon::fit) + (narrow ? "" : "  Compare with...") + "###compare with";
  if (ImGui::Button(face.c_str())) ImGui::OpenPopup("compare with");
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Compare with another recording");
  if (!ImGui::BeginPopup("compare with")) return;
  const document* active = session_.active();
  const tab_titles titles(session_);
  for (const auto& each : session_.all()) {
    if (active == nullptr || each.get() == active || !each->ready()) continue;
    ImGui::PushID(static_cast<int>(each->id));
    if (ImGui::MenuItem(make_label(titles.get(each->id)).c_str())) session_.comparisons.open({active->id, each->id});
    ImGui::PopID();
  }
  ImGui::Separator();
  if (ImGui::MenuItem("Another recording...")) with.commands.invoke("compare.with");
  ImGui::EndPopup();
}

}  // namespace sluice::gui
