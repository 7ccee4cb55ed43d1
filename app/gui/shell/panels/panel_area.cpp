#include "app/gui/shell/panels/panel_area.hpp"

#include "app/gui/views/parts/item_menu.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// Draws a dot on the tab of the current window.
void mark_tab(const view_context& with) {
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  if (window->DockNode == nullptr || window->DockNode->HostWindow == nullptr) return;
  const ImGuiTabBar* bar = window->DockNode->TabBar;
  if (bar == nullptr) return;
  const ImRect& tab = window->DC.DockTabItemRect;
  ImDrawList& list = *window->DockNode->HostWindow->DrawList;
  list.PushClipRect(bar->BarRect.Min, bar->BarRect.Max, true);  // The tab may be scrolled out of view.
  list.AddCircleFilled({tab.Min.x + with.px(5), tab.Min.y + with.px(7)}, with.px(3), with.colours.warning);
  list.PopClipRect();
}

/// Opens the panel's menu when the user right-clicks the panel's tab or an empty area of the panel.
void draw_panel_menu(const view& which, const view_context& with, bool on_tab) {
  ImGui::PushID("panel menu");
  const bool beside = ImGui::IsMouseReleased(ImGuiMouseButton_Right) &&
                      ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && !ImGui::IsAnyItemHovered() &&
                      !ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  if (on_tab || (beside && which.info.place != panel_place::centre)) ImGui::OpenPopup("menu");
  if (ImGui::BeginPopup("menu")) {
    panel_entries(with);
    ImGui::EndPopup();
  }
  ImGui::PopID();
}

}  // namespace

bool panel_area::show_only(std::string_view name) {
  view* found = panels_.find(name);
  if (found != nullptr) only_ = found;
  return found != nullptr;
}

void panel_area::add_commands(command_registry& commands, const documents& state) {
  commands.add({.id = "panel.maximize",
                .title = "Maximize panel",
                .group = "View",
                .icon = icon::expand,
                .keys = {ImGuiMod_Shift | ImGuiKey_M},
                .run = [this](const argument&) { maximized_ = maximized_ == nullptr ? find_focused() : nullptr; },
                .enabled = [&state] { return state.ready(); },
                .checked = [this] { return maximized_ != nullptr; }});
}

view* panel_area::find_focused() const {
  const ImGuiWindow* focused = ImGui::GetCurrentContext()->NavWindow;
  view* found = nullptr;
  for (const auto& each : panels_.views()) {
    if (found == nullptr && each->info.place == panel_place::centre) found = each.get();
    for (const ImGuiWindow* at = focused; at != nullptr; at = at->ParentWindow)
      if (std::string_view(at->Name) == each->name()) found = each.get();
  }
  return found;
}

bool panel_area::draw(view_context& with, bool bars_placed, std::string_view copied) {
  const bool ready = with.state.ready();
  if (!ready) restore();
  const bool alone = maximized_ != nullptr;
  draw_base(with, ready, bars_placed, copied);
  if (!ready || only_ != nullptr || with.state.comparisons.front() != nullptr) return false;
  if (alone) return true;
  for (const auto& each : panels_.views())
    if (each->visible) draw_panel(*each, with, copied == each->name());
  layout_.bring_tabs_forward();
  return true;
}

/// Draws the window that contains the dock. It covers the whole area.
void panel_area::draw_base(view_context& with, bool ready, bool bars_placed, std::string_view copied) {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(viewport->WorkPos);
  ImGui::SetNextWindowSize(viewport->WorkSize);
  const ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                 ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                 ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoNavFocus;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0F);
  ImGui::Begin("##base", nullptr, ready ? flags : flags & ~ImGuiWindowFlags_NoScrollbar);
  ImGui::PopStyleVar(2);
  layout_.begin_frame();
  const compared_documents* compared = with.state.comparisons.front();
  if (compared == nullptr) page_.rest();
  if (ready && compared != nullptr) {
    layout_.keep_dock();
    page_.draw(with, *compared);
  } else if (ready && only_ != nullptr) {
    ImGui::SetCursorPos({with.px(10), with.px(8)});
    ImGui::BeginChild("only", {viewport->WorkSize.x - with.px(20), viewport->WorkSize.y - with.px(16)});
    only_->draw(with);
    ImGui::EndChild();
  } else if (ready && maximized_ != nullptr) {
    layout_.keep_dock();
    draw_maximized(with, viewport->WorkSize, copied);
  } else if (ready) {
    layout_.draw_dock(viewport->WorkSize, with.scale, bars_placed);
  } else {
    layout_.keep_dock();
    start_.draw(with);
  }
  ImGui::End();
}

/// Draws one panel in the whole area, below a line with its name and a button to restore the others.
void panel_area::draw_maximized(view_context& with, ImVec2 size, std::string_view copied) {
  view& which = *maximized_;
  const bool centre = which.info.place == panel_place::centre;
  const float line = ImGui::GetFrameHeight() + with.px(6);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddLineH(at.x, at.x + size.x, at.y + line - 1, with.colours.line);
  ImGui::SetCursorPos({with.px(12), with.px(3)});
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(which.name());
  ImGui::SameLine(0, with.px(16));
  const bool restored = ImGui::SmallButton("Restore") ||
                        (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered() &&
                         ImGui::GetMousePos().y < at.y + line && !ImGui::IsAnyItemHovered());
  const ImVec2 margin = centre ? ImVec2(0, 0) : ImGui::GetStyle().WindowPadding;
  ImGui::SetCursorPos({margin.x, line + margin.y});
  ImGuiWindowFlags flags =
      which.info.scrolls ? ImGuiWindowFlags_None : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  if (which.info.uses_arrows) flags |= ImGuiWindowFlags_NoNavInputs;
  ImGui::BeginChild(which.name(), {size.x - margin.x * 2, size.y - line - margin.y * 2}, ImGuiChildFlags_None, flags);
  if (copied == which.name()) ImGui::LogToClipboard();
  which.draw(with);
  if (copied == which.name()) ImGui::LogFinish();
  draw_panel_menu(which, with, false);
  ImGui::EndChild();
  if (restored) restore();
}

void panel_area::draw_panel(view& which, view_context& with, bool copied) {
  const bool centre = which.info.place == panel_place::centre;
  if (centre) ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGuiWindowFlags flags =
      which.info.scrolls ? ImGuiWindowFlags_None : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  if (which.info.uses_arrows) flags |= ImGuiWindowFlags_NoNavInputs;
  // When the window starts, all panels appear at the same time. None may get the focus, so that the tabs that were in
  // front stay in front.
  flags |= ImGuiWindowFlags_NoFocusOnAppearing;
  ImGui::SetNextWindowSize({480 * with.scale, 320 * with.scale}, ImGuiCond_FirstUseEver);
  // A layout that an earlier version saved does not contain newer panels.
  const ImGuiWindow* below = ImGui::FindWindowByName(layout_.first_at(panel_place::below).name());
  if (!centre && below != nullptr && below->DockId != 0)
    ImGui::SetNextWindowDockID(below->DockId, ImGuiCond_FirstUseEver);
  const bool shown = ImGui::Begin(which.name(), centre ? nullptr : &which.visible, flags);
  const bool over_tab = !centre && ImGui::IsItemHovered();
  const bool on_tab = over_tab && ImGui::IsMouseReleased(ImGuiMouseButton_Right);
  if (over_tab && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) maximized_ = &which;
  if (shown) {
    if (copied) ImGui::LogToClipboard();
    which.draw(with);
    if (copied) ImGui::LogFinish();
  }
  draw_panel_menu(which, with, on_tab);
  if (which.status().warns) mark_tab(with);
  ImGui::End();
  if (centre) ImGui::PopStyleVar();
}

}  // namespace sluice::gui
