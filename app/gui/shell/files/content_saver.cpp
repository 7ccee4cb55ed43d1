#include "app/gui/shell/files/content_saver.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/files/replacement.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// Writes `text` to a file, and returns the file's path.
result<std::string> write_text(const std::string& text, const std::string& path) {
  auto replaced = replacement::of_file(path);
  if (!replaced) return tl::unexpected(replaced.error());
  std::ofstream file(replaced->path(), std::ios::binary);
  file << text;
  file.close();
  if (!file) return fail(error_code::io, "the file cannot be written", path);
  if (auto done = replaced->commit(); !done) return tl::unexpected(done.error());
  return path;
}

/// A panel's name as a part of a file name: "copies-by-line" for "Copies by line".
std::string file_name_for(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '/' || c == ','; }, '-');
  return name;
}

}  // namespace

std::string content_saver::name_to_save() const {
  const document* shown = session_.active();
  return shown == nullptr ? "sluice" : std::filesystem::path(shown->title).stem().string();
}

void content_saver::add_commands(command_registry& commands) {
  static constexpr auto has_document = [](auto& at) { return at->session_.active() != nullptr; };
  static constexpr command_row<content_saver*> rows[] = {
      {.id = "file.save_picture",
       .title = "Save window as picture...",
       .group = "File",
       .words = "export png image screenshot",
       .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_S},
       .run =
           [](auto& at, auto& with) {
             const auto* path = std::get_if<std::string>(&with);
             if (path == nullptr)
               return at->choosers_.ask_where_to_save(at->name_to_save() + ".png", "file.save_picture");
             at->picture_ = {*path, {}, {}};
           }},
      // Saves one panel, whose name is the argument. The command that follows gets the path.
      {.id = "panel.save_picture",
       .run =
           [](auto& at, auto& with) {
             if (const auto* panel = std::get_if<std::string>(&with)) at->ask_for_picture_of(*panel);
           },
       .enabled = has_document},
      {.id = "panel.save_picture_as",
       .run =
           [](auto& at, auto& with) {
             const auto* path = std::get_if<std::string>(&with);
             const ImGuiWindow* panel = ImGui::FindWindowByName(at->panel_to_save_.c_str());
             if (path == nullptr || panel == nullptr) return;
             const ImRect area = panel->Rect();
             at->picture_ = {*path, area.Min, area.Max};
           },
       .enabled = has_document},
      {.id = "panel.copy_text",
       .run =
           [](auto& at, auto& with) {
             if (const auto* panel = std::get_if<std::string>(&with)) at->panel_to_copy_ = *panel;
           },
       .enabled = has_document},
      {.id = "row.copy",
       .title = "Copy",
       .group = "Edit",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_C, ImGuiMod_Ctrl | ImGuiKey_Insert},
       .enabled = has_document},
      {.id = "row.select_all",
       .title = "Select all rows",
       .group = "Edit",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_A},
       .enabled = has_document},
      {.id = "table.save_focused",
       .title = "Save table as CSV...",
       .group = "File",
       .words = "export",
       .enabled = has_document},
      {.id = "table.save",
       .run =
           [](auto& at, auto& with) {
             if (const auto* table = std::get_if<table_text>(&with)) at->ask_for_file_of(*table);
           },
       .enabled = has_document},
      {.id = "table.save_as",
       .run =
           [](auto& at, auto& with) {
             if (const auto* path = std::get_if<std::string>(&with)) at->save_table(*path);
           },
       .enabled = [](auto& at) { return !at->table_to_save_.empty(); }},
      // Used by views that ask for a path themselves. In the argument, the table's name is the file name, and its text is
      // the id of the command that gets the path.
      {.id = "file.ask_path", .run = [](auto& at, auto& with) {
         if (const auto* asked = std::get_if<table_text>(&with))
           at->choosers_.ask_where_to_save(asked->name, asked->csv);
       }}};
  commands.add(rows, this);
}

void content_saver::ask_for_picture_of(const std::string& panel) {
  panel_to_save_ = panel;
  choosers_.ask_where_to_save(name_to_save() + "-" + file_name_for(panel) + ".png", "panel.save_picture_as");
}

void content_saver::ask_for_file_of(const table_text& table) {
  table_to_save_ = table.csv;
  choosers_.ask_where_to_save(name_to_save() + "-" + file_name_for(table.name) + ".csv", "table.save_as");
}

void content_saver::save_table(const std::string& path) {
  if (saving_.running()) return;
  saving_.start([text = std::move(table_to_save_), path] { return write_text(text, path); });
  table_to_save_.clear();
}

void content_saver::choose_tables(const command_registry& commands) {
  tables_.choice.begin_frame();
  const unsigned chosen = tables_.choice.of_chosen_row();
  tables_.to_copy = commands.just_ran("row.copy") ? chosen : 0;
  tables_.to_select = commands.just_ran("row.select_all") ? chosen : 0;
  tables_.to_save = commands.just_ran("table.save_focused") ? tables_.choice.nearest() : 0;
  if (commands.just_ran("table.save_focused") && tables_.to_save == 0)
    notices_.say("No visible panel has a table. Bring one to the front that has, such as Blocks.");
}

void content_saver::follow() {
  const auto done = saving_.take();
  if (!done) return;
  if (*done) {
    notices_.tell("Saved " + **done);
  } else {
    notices_.say(done->error().to_string());
  }
}

}  // namespace sluice::gui
