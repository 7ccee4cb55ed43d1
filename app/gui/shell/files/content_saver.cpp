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
  add_picture_commands(commands);
  add_table_commands(commands);
  // Used by views that ask for a path themselves. In the argument, the table's name is the file name, and its text is
  // the id of the command that gets the path.
  commands.add({.id = "file.ask_path", .run = [this](const argument& with) {
                  if (const auto* asked = std::get_if<table_text>(&with))
                    choosers_.ask_where_to_save(asked->name, asked->csv);
                }});
}

void content_saver::add_picture_commands(command_registry& commands) {
  const auto has_document = [this] { return session_.active() != nullptr; };
  commands.add({.id = "file.save_picture",
                .title = "Save window as picture...",
                .group = "File",
                .words = "export png image screenshot",
                .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_S},
                .run = [this](const argument& with) {
                  if (const auto* path = std::get_if<std::string>(&with)) {
                    picture_ = {*path, {}, {}};
                  } else {
                    choosers_.ask_where_to_save(name_to_save() + ".png", "file.save_picture");
                  }
                }});
  // Saves one panel, whose name is the argument. The command that follows gets the path.
  commands.add({.id = "panel.save_picture",
                .run =
                    [this](const argument& with) {
                      const auto* panel = std::get_if<std::string>(&with);
                      if (panel == nullptr) return;
                      panel_to_save_ = *panel;
                      choosers_.ask_where_to_save(name_to_save() + "-" + file_name_for(*panel) + ".png",
                                                  "panel.save_picture_as");
                    },
                .enabled = has_document});
  commands.add({.id = "panel.save_picture_as",
                .run =
                    [this](const argument& with) {
                      const auto* path = std::get_if<std::string>(&with);
                      const ImGuiWindow* panel = ImGui::FindWindowByName(panel_to_save_.c_str());
                      if (path == nullptr || panel == nullptr) return;
                      const ImRect area = panel->Rect();
                      picture_ = {*path, area.Min, area.Max};
                    },
                .enabled = has_document});
}

void content_saver::add_table_commands(command_registry& commands) {
  const auto has_document = [this] { return session_.active() != nullptr; };
  commands.add({.id = "panel.copy_text",
                .run =
                    [this](const argument& with) {
                      if (const auto* panel = std::get_if<std::string>(&with)) panel_to_copy_ = *panel;
                    },
                .enabled = has_document});
  commands.add({.id = "row.copy",
                .title = "Copy",
                .group = "Edit",
                .keys = {ImGuiMod_Ctrl | ImGuiKey_C, ImGuiMod_Ctrl | ImGuiKey_Insert},
                .enabled = has_document});
  commands.add({.id = "row.select_all",
                .title = "Select all rows",
                .group = "Edit",
                .keys = {ImGuiMod_Ctrl | ImGuiKey_A},
                .enabled = has_document});
  commands.add({.id = "table.save_focused",
                .title = "Save table as CSV...",
                .group = "File",
                .words = "export",
                .enabled = has_document});
  commands.add({.id = "table.save",
                .run =
                    [this](const argument& with) {
                      const auto* table = std::get_if<table_text>(&with);
                      if (table == nullptr) return;
                      table_to_save_ = table->csv;
                      choosers_.ask_where_to_save(name_to_save() + "-" + file_name_for(table->name) + ".csv",
                                                  "table.save_as");
                    },
                .enabled = has_document});
  commands.add({.id = "table.save_as",
                .run =
                    [this](const argument& with) {
                      const auto* path = std::get_if<std::string>(&with);
                      if (path == nullptr || saving_.running()) return;
                      saving_.start([text = std::move(table_to_save_), to = *path] { return write_text(text, to); });
                      table_to_save_.clear();
                    },
                .enabled = [this] { return !table_to_save_.empty(); }});
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
