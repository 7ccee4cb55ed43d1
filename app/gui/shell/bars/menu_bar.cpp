#include "app/gui/shell/bars/menu_bar.hpp"

#include <string>
#include <vector>

#include "core/base/printable.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {
namespace {

void menu_entry(const command_registry& commands, std::string_view id) {
  const command* found = commands.find(id);
  if (found == nullptr || found->title.empty()) return;
  const std::string keys = key_text(*found);
  if (ImGui::MenuItem(found->title.c_str(), keys.empty() ? nullptr : keys.c_str(), found->checked && found->checked(),
                      commands.enabled(*found)))
    commands.invoke(id);
}

void menu_entries(const command_registry& commands, std::string_view group) {
  for (const command& each : commands.all())
    if (each.group == group) menu_entry(commands, each.id);
}

/// A menu with the commands of the group.
void menu_of_group(const command_registry& commands, const char* group) {
  if (!ImGui::BeginMenu(group)) return;
  menu_entries(commands, group);
  ImGui::EndMenu();
}

/// Draws the right side of the menu bar: the device, whether it is simulated, and whether the recording is live.
void draw_status(const view_context& with) {
  const document* shown = with.state.active();
  if (shown == nullptr || !shown->engine) return;
  const auto snapshot = shown->engine->snapshot();
  struct badge {
    std::string text;
    ImU32 colour;
  };
  std::vector<badge> badges;
  if (snapshot->simulated()) badges.push_back({std::string(icon::flask) + "  simulated device", with.colours.warning});
  if (shown->live) badges.push_back({std::string(icon::live) + "  live", with.colours.failure});
  if (!snapshot->complete() && !shown->live)
    badges.push_back({std::string(icon::warning) + "  not closed", with.colours.warning});
  const std::string device = index::device_names(snapshot->tables(), !snapshot->simulated());
  if (!device.empty()) badges.push_back({device, with.colours.muted});
  if (badges.empty()) return;
  float width = 0;
  const float gap = with.px(16);
  for (const badge& each : badges) width += ImGui::CalcTextSize(each.text.c_str()).x + gap;
  const float room = ImGui::GetContentRegionAvail().x;
  if (room < width && !badges.empty() && !device.empty()) {
    width -= ImGui::CalcTextSize(badges.back().text.c_str()).x + gap;
    badges.pop_back();
  }
  if (room < width || badges.empty()) return;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
  for (const badge& each : badges) {
    ImGui::PushStyleColor(ImGuiCol_Text, each.colour);
    ImGui::TextUnformatted(each.text.c_str());
    ImGui::PopStyleColor();
    ImGui::SameLine(0, gap);
  }
}

}  // namespace

void menu_bar::draw(const view_context& with) {
  if (!ImGui::BeginMainMenuBar()) return;
  draw_file_menu(with.commands);
  menu_of_group(with.commands, "Edit");
  if (ImGui::BeginMenu("View")) {
    menu_entries(with.commands, "View");
    ImGui::Separator();
    menu_entries(with.commands, "Panels");
    ImGui::Separator();
    menu_entries(with.commands, "Layouts");
    ImGui::EndMenu();
  }
  menu_of_group(with.commands, "Timeline");
  menu_of_group(with.commands, "Memory");
  if (ImGui::BeginMenu("Analyze")) {
    menu_entries(with.commands, "Analyze");
    ImGui::Separator();
    menu_of_group(with.commands, "Compare");
    menu_of_group(with.commands, "Notes");
    ImGui::EndMenu();
  }
  if (options_.around.starts_programs) draw_demo_menu(with.commands);
  menu_of_group(with.commands, "Help");
  draw_status(with);
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  ImGui::GetWindowDrawList()->AddLineH(at.x, at.x + size.x, at.y + size.y - 1, with.colours.line);
  ImGui::EndMainMenuBar();
}

void menu_bar::draw_file_menu(const command_registry& commands) {
  if (!ImGui::BeginMenu("File")) return;
  for (const char* id : {"file.open", "file.type_path", "record.open", "record.output"}) menu_entry(commands, id);
  draw_recent_menu(commands);
  menu_entry(commands, "file.restore");
  if (!session_.all().empty()) ImGui::Separator();
  for (const auto& each : session_.all()) {
    ImGui::PushID(static_cast<int>(each->id));
    if (ImGui::MenuItem(make_label(each->title).c_str(), nullptr, each.get() == session_.active()))
      session_.activate(each->id);
    ImGui::PopID();
  }
  ImGui::Separator();
  for (const char* id : {"file.save_as", "file.save_picture", "table.save_focused", "file.sources_from"})
    menu_entry(commands, id);
  ImGui::Separator();
  menu_entry(commands, "file.close");
  menu_entry(commands, "file.quit");
  ImGui::EndMenu();
}

void menu_bar::draw_recent_menu(const command_registry& commands) const {
  if (!ImGui::BeginMenu("Open recent", !settings_.recent().empty())) return;
  for (const std::string& path : settings_.recent())
    if (ImGui::MenuItem(make_label(printable(path)).c_str())) commands.invoke("file.open_path", path);
  ImGui::Separator();
  menu_entry(commands, "file.forget_recent");
  ImGui::EndMenu();
}

void menu_bar::draw_demo_menu(const command_registry& commands) const {
  if (!ImGui::BeginMenu("Demo")) return;
  for (const demo_entry& each : options_.demos) {
    menu_entry(commands, "demo.start." + each.name);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("%s", each.shows.c_str());
  }
  if (!options_.demos.empty()) ImGui::Separator();
  menu_entry(commands, "record.stop");
  ImGui::EndMenu();
}

}  // namespace sluice::gui
