#include "app/gui/shell/panels/panel_layout.hpp"

#include <algorithm>

#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr ImGuiDockNodeFlags dock_flags = static_cast<ImGuiDockNodeFlags>(ImGuiDockNodeFlags_PassthruCentralNode) |
                                          static_cast<ImGuiDockNodeFlags>(ImGuiDockNodeFlags_NoWindowMenuButton) |
                                          static_cast<ImGuiDockNodeFlags>(ImGuiDockNodeFlags_NoCloseButton);

/// Scales the sizes of the panels around the central panel.
void rescale_node(ImGuiDockNode& node, float factor) {
  constexpr float most = 0.45F;  // share of the window, so that the central panel stays visible
  if (!node.IsSplitNode()) return;
  const std::size_t axis = node.SplitAxis == ImGuiAxis_X ? 0 : 1;
  for (ImGuiDockNode* child : node.ChildNodes) {
    if (!child->IsCentralNode() && !child->HasCentralNodeChild)
      child->SizeRef[axis] =
          std::min(child->SizeRef[axis] * factor, std::max(child->SizeRef[axis], node.Size[axis] * most));
    rescale_node(*child, factor);
  }
}

}  // namespace

result<void> panel_layout::load() {
  const auto layout = settings_.read_layout();
  wanted_ = !layout;
  if (layout) ImGui::LoadIniSettingsFromMemory(layout->data(), layout->size());
  if (!layout && layout.error().code != error_code::not_found) return tl::unexpected(layout.error());
  return {};
}

void panel_layout::save() {
  ImGui::GetIO().WantSaveIniSettings = false;
  if (!wanted_) settings_.save_layout(ImGui::SaveIniSettingsToMemory());
}

void panel_layout::add_commands(command_registry& commands) {
  struct layout {
    const char* id;
    const char* title;
    const char* below;
    const char* right;
    float share;
  };
  // `window.reset_layout` comes first; it arranges the panels as they are when the window is started for the first
  // time.
  for (const layout& each : {layout{"window.reset_layout", "Reset layout", "", "", usual_below_share},
                             layout{"layout.memory", "Layout: memory", "Memory over time", "Summary", 0.50F},
                             layout{"layout.transfers", "Layout: transfers", "Transfers", "Statistics", 0.45F},
                             layout{"layout.timeline", "Layout: timeline", "Search", "Details", 0.18F},
                             layout{"layout.compare", "Layout: compare", "Compare", "Summary", 0.60F}})
    commands.add({.id = each.id, .title = each.title, .group = "Layouts", .run = [this, each](const argument&) {
                    arrange(each.below, each.right, each.share);
                  }});
}

void panel_layout::begin_frame() {
  dock_ = ImGui::GetID("panels");
  if (ImGui::GetIO().WantSaveIniSettings) save();
}

void panel_layout::draw_dock(ImVec2 size, float scale, bool bars_placed) {
  if (wanted_) {
    build(size, scale);
    front_tabs_in_ = 4;
  }
  wanted_ = wanted_ && !bars_placed;
  ImGui::DockSpace(dock_, {0, 0}, dock_flags);
}

void panel_layout::keep_dock() { ImGui::DockSpace(dock_, {0, 0}, ImGuiDockNodeFlags_KeepAliveOnly); }

void panel_layout::bring_tabs_forward() {
  // In a new layout ImGui shows the tab that was docked last, but the first tab should be shown. Tab bars exist only
  // from the next frame on.
  if (front_tabs_in_ == 0 || --front_tabs_in_ > 0) return;
  ImGui::SetWindowFocus(first_at(panel_place::centre).name());
  for (const panel_place place : {panel_place::below, panel_place::right}) first_at(place).bring_forward();
}

const view& panel_layout::first_at(panel_place place) const {
  const auto& views = panels_.views();
  const auto here = [place](const auto& each) { return each->info.place == place; };
  const auto chosen = std::find_if(views.begin(), views.end(), [&](const auto& each) {
    return here(each) && std::find(in_front_.begin(), in_front_.end(), each->name()) != in_front_.end();
  });
  if (chosen != views.end()) return **chosen;
  auto found = std::find_if(views.begin(), views.end(), [&](const auto& each) {
    return here(each) && each->visible && each->status().wants_front;
  });
  if (found == views.end()) found = std::find_if(views.begin(), views.end(), here);
  IM_ASSERT(found != views.end());
  return **found;
}

void panel_layout::rescale(float factor) {
  ImGuiDockNode* node = dock_ == 0 ? nullptr : ImGui::DockBuilderGetNode(dock_);
  if (node != nullptr) rescale_node(*node, factor);
}

void panel_layout::arrange(const char* below, const char* right, float share) {
  panels_.show_initial();
  in_front_ = {below, right};
  below_share_ = share;
  wanted_ = true;
}

void panel_layout::build(ImVec2 size, float scale) {
  ImGui::DockBuilderRemoveNode(dock_);
  ImGui::DockBuilderAddNode(dock_, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodeSize(dock_, size);
  ImGuiID centre = dock_;
  ImGuiID right = 0;
  ImGuiID below = 0;
  const bool wide = size.x >= 1080 * scale;
  if (wide) {
    const float share = std::clamp(420 * scale / size.x, 0.2F, 0.4F);
    ImGui::DockBuilderSplitNode(centre, ImGuiDir_Right, share, &right, &centre);
  }
  ImGui::DockBuilderSplitNode(centre, ImGuiDir_Down, wide ? below_share_ : below_share_ * 1.2F, &below, &centre);
  if (!wide) right = below;
  for (const auto& each : panels_.views()) {
    const panel_place place = each->info.place;
    const ImGuiID node = place == panel_place::centre ? centre : place == panel_place::right ? right : below;
    ImGui::DockBuilderDockWindow(each->name(), node);
  }
  if (ImGuiDockNode* node = ImGui::DockBuilderGetNode(centre))
    node->SetLocalFlags(node->LocalFlags | ImGuiDockNodeFlags_NoTabBar);
  ImGui::DockBuilderFinish(dock_);
}

}  // namespace sluice::gui
