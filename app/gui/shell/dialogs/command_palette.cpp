#include "app/gui/shell/dialogs/command_palette.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

/// The commands that can run now and match the text; better matches first.
std::vector<const command*> matching_commands(const command_registry& commands, const std::string& text) {
  std::vector<const command*> found;
  for (const int wanted : {2, 1})
    for (const command& each : commands.all())
      if (!each.title.empty() && commands.enabled(each) && match_score(each, text) == wanted) found.push_back(&each);
  return found;
}

}  // namespace

void command_palette::add_commands(command_registry& commands) {
  static constexpr command_row<command_palette*> rows[] = {{.id = "window.palette",
                                                            .title = "Find command...",
                                                            .group = "View",
                                                            .icon = icon::search,
                                                            .keys = {ImGuiMod_Ctrl | ImGuiKey_P},
                                                            .run = [](auto& at, auto&) { at->open(); }}};
  commands.add(rows, this);
}

void command_palette::open() {
  const ImGuiWindow* over = ImGui::GetCurrentContext()->NavWindow;
  opened_over_ = over == nullptr ? 0 : over->ID;
  open_ = true;
  text_.clear();
  choice_ = 0;
}

bool command_palette::close() { return std::exchange(open_, false); }

void command_palette::draw(const view_context& with) {
  if (!open_) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(520), viewport->Size.x - with.px(24));
  ImGui::SetNextWindowPos(
      {viewport->Pos.x + std::floor((viewport->Size.x - width) * 0.5F), viewport->Pos.y + with.px(54)});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::Begin("##palette", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoNavInputs);
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-1);
  const bool entered =
      ImGui::InputTextWithHint("##find", "Type a command", &text_, ImGuiInputTextFlags_EnterReturnsTrue);
  const std::vector<const command*> found = matching_commands(with.commands, text_);
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) ++choice_;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) --choice_;
  choice_ = std::clamp(choice_, 0, std::max(0, static_cast<int>(found.size()) - 1));
  const command* chosen = draw_list(with, found);
  if (entered && !found.empty()) chosen = found[static_cast<std::size_t>(choice_)];
  const bool away = !ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing();
  if (chosen != nullptr || away || ImGui::IsKeyPressed(ImGuiKey_Escape)) open_ = false;
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  if (chosen == nullptr) return;
  // The command may act on the window that had the focus before the palette.
  if (ImGuiWindow* before = ImGui::FindWindowByID(opened_over_)) ImGui::FocusWindow(before);
  with.commands.invoke(chosen->id);
}

const command* command_palette::draw_list(const view_context& with, const std::vector<const command*>& found) {
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const float room = std::min(line * 12, ImGui::GetMainViewport()->Size.y * 0.55F);
  ImGui::BeginChild(
      "found", {0, std::min(room, line * static_cast<float>(std::max<std::size_t>(found.size(), 1)) + with.px(4))});
  if (found.empty()) ImGui::TextDisabled("No matching command.");
  const command* clicked = nullptr;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool current = static_cast<int>(i) == choice_;
    ImGui::PushID(found[i]->id.c_str());
    if (ImGui::Selectable("##row", current)) clicked = found[i];
    if (current && !ImGui::IsItemVisible()) ImGui::SetScrollHereY();
    ImGui::SameLine(with.px(6));
    ImGui::TextDisabled("%s", found[i]->group.c_str());
    ImGui::SameLine(with.px(90));
    ImGui::TextUnformatted(found[i]->title.c_str());
    const std::string keys = key_text(*found[i]);
    if (!keys.empty()) {
      ImGui::SameLine(ImGui::GetWindowWidth() - ImGui::CalcTextSize(keys.c_str()).x - with.px(16));
      ImGui::TextDisabled("%s", keys.c_str());
    }
    ImGui::PopID();
  }
  ImGui::EndChild();
  return clicked;
}

}  // namespace sluice::gui
