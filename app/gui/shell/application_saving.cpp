// Copying and saving the content of panels: tables, texts, pictures.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/gui/shell/application.hpp"
#include "app/gui/views/row_menu.hpp"
#include "core/base/replacement.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// Writes `text` to a file, and returns the file's path.
result<std::string> write_text(const std::string& text, const std::string& path) {
  auto place = replacement::of_file(path);
  if (!place) return tl::unexpected(place.error());
  std::ofstream file(place->path(), std::ios::binary);
  file << text;
  file.close();
  if (!file) return fail(error_code::io, "the file cannot be written", path);
  if (auto done = place->commit(); !done) return tl::unexpected(done.error());
  return path;
}

/// A panel's name as a part of a file name: "copies-by-line" for "Copies by line".
std::string file_name_of(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '/' || c == ','; }, '-');
  return name;
}

}  // namespace

void application::ask_where_to_save(const std::string& name, const std::string& command) {
  const std::string& all = options_.around.saves_to;
  if (all.empty()) return paths_.save(last_folder(), name, command);
  commands_.invoke(command, (std::filesystem::path(all) / std::filesystem::path(name).filename()).string());
}

std::string application::name_to_save() const {
  const document* shown = session_.active();
  return shown == nullptr ? "sluice" : std::filesystem::path(shown->title).stem().string();
}

void application::add_saving_commands() {
  const auto has_document = [this] { return session_.active() != nullptr; };
  commands_.add({.id = "file.save_picture",
                 .title = "Save window as picture...",
                 .group = "File",
                 .words = "export png image screenshot",
                 .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_S},
                 .run = [this](const argument& with) {
                   if (const auto* path = std::get_if<std::string>(&with)) {
                     picture_wanted_ = {*path, {}, {}};
                   } else {
                     ask_where_to_save(name_to_save() + ".png", "file.save_picture");
                   }
                 }});
  // Saves one panel, whose name is the argument. The command that follows gets the path.
  commands_.add({.id = "panel.save_picture",
                 .run =
                     [this](const argument& with) {
                       const auto* panel = std::get_if<std::string>(&with);
                       if (panel == nullptr) return;
                       panel_to_save_ = *panel;
                       ask_where_to_save(name_to_save() + "-" + file_name_of(*panel) + ".png", "panel.save_picture_as");
                     },
                 .enabled = has_document});
  commands_.add({.id = "panel.save_picture_as",
                 .run =
                     [this](const argument& with) {
                       const auto* path = std::get_if<std::string>(&with);
                       const ImGuiWindow* panel = ImGui::FindWindowByName(panel_to_save_.c_str());
                       if (path == nullptr || panel == nullptr) return;
                       const ImRect area = panel->Rect();
                       picture_wanted_ = {*path, area.Min, area.Max};
                     },
                 .enabled = has_document});
  commands_.add({.id = "panel.copy_text",
                 .run =
                     [this](const argument& with) {
                       if (const auto* panel = std::get_if<std::string>(&with)) panel_to_copy_ = *panel;
                     },
                 .enabled = has_document});
  commands_.add({.id = "row.copy",
                 .title = "Copy",
                 .group = "Edit",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_C, ImGuiMod_Ctrl | ImGuiKey_Insert},
                 .enabled = has_document});
  commands_.add({.id = "row.select_all",
                 .title = "Select all rows",
                 .group = "Edit",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_A},
                 .enabled = has_document});
  commands_.add({.id = "table.save_focused",
                 .title = "Save table as CSV...",
                 .group = "File",
                 .words = "export",
                 .enabled = has_document});
  commands_.add({.id = "table.save",
                 .run =
                     [this](const argument& with) {
                       const auto* table = std::get_if<table_text>(&with);
                       if (table == nullptr) return;
                       table_to_save_ = table->csv;
                       ask_where_to_save(name_to_save() + "-" + file_name_of(table->name) + ".csv", "table.save_as");
                     },
                 .enabled = has_document});
  commands_.add({.id = "table.save_as",
                 .run =
                     [this](const argument& with) {
                       const auto* path = std::get_if<std::string>(&with);
                       if (path == nullptr || saving_.running()) return;
                       saving_.start([text = std::move(table_to_save_), to = *path] { return write_text(text, to); });
                       table_to_save_.clear();
                     },
                 .enabled = [this] { return !table_to_save_.empty(); }});
  // Used by views that ask for a path themselves. In the argument, the table's name is the file name, and its text is
  // the id of the command that gets the path.
  commands_.add({.id = "file.ask_path", .run = [this](const argument& with) {
                   if (const auto* asked = std::get_if<table_text>(&with)) ask_where_to_save(asked->name, asked->csv);
                 }});
}

void application::follow_saving() {
  const auto done = saving_.take();
  if (!done) return;
  if (*done) {
    tell("Saved " + **done);
  } else {
    notice_ = done->error().to_string();
  }
}

/// Chooses the tables that handle the requests of this frame. Only tables drawn in the last frame can be chosen.
void application::choose_table() {
  tables_.choice.begin_frame();
  const unsigned chosen = tables_.choice.of_chosen_row();
  tables_.to_copy = commands_.just_ran("row.copy") ? chosen : 0;
  tables_.to_select = commands_.just_ran("row.select_all") ? chosen : 0;
  tables_.to_save = commands_.just_ran("table.save_focused") ? tables_.choice.nearest() : 0;
  if (commands_.just_ran("table.save_focused") && tables_.to_save == 0)
    notice_ = "No visible panel has a table. Bring one to the front that has, such as Blocks.";
}

/// Opens the panel's menu when the user right-clicks the panel's tab or an empty area of the panel.
void application::draw_panel_menu(const view& of, const view_context& with, bool on_tab) {
  ImGui::PushID("panel menu");
  const bool beside = ImGui::IsMouseReleased(ImGuiMouseButton_Right) &&
                      ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && !ImGui::IsAnyItemHovered() &&
                      !ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  if (on_tab || (beside && of.place() != panel_place::centre)) ImGui::OpenPopup("menu");
  if (ImGui::BeginPopup("menu")) {
    panel_entries(with);
    ImGui::EndPopup();
  }
  ImGui::PopID();
}

}  // namespace sluice::gui
