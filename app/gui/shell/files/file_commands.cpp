#include "app/gui/shell/files/file_commands.hpp"

#include <cstdlib>
#include <filesystem>

#include "app/gui/shell/programs/editor.hpp"
#include "core/base/files/replacement.hpp"
#include "core/trace/file/byte_source.hpp"

namespace sluice::gui {
namespace {

/// Copies the document's recording to `path`. Returns an error message; empty if the file has been copied.
std::string copy_recording(const document& shown, const std::string& path) {
  auto replaced = replacement::of_file(path);
  if (!replaced) return replaced.error().to_string();
  const std::string prefix = "The recording cannot be saved as " + path + ": ";
  if (shown.source) {
    if (const auto copied = copy_bytes(*shown.source, replaced->descriptor()); !copied)
      return prefix + copied.error().to_string();
  } else {
    std::error_code failed;
    std::filesystem::copy_file(shown.path, replaced->path(), std::filesystem::copy_options::overwrite_existing, failed);
    if (failed) return prefix + failed.message();
  }
  const auto done = replaced->commit();
  return done ? std::string() : done.error().to_string();
}

}  // namespace

void file_commands::add(command_registry& commands) {
  add_opening_commands(commands);
  add_closing_commands(commands);
}

void file_commands::add_opening_commands(command_registry& commands) {
  commands.add({.id = "file.open",
                .title = "Open...",
                .group = "File",
                .icon = icon::open,
                .keys = {ImGuiMod_Ctrl | ImGuiKey_O},
                .run = [this](const argument&) { home_.choosers.choose_recordings(); }});
  commands.add({.id = "file.type_path",
                .title = "Open by path...",
                .group = "File",
                .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_O},
                .run = [this](const argument&) { home_.choosers.type_path(); },
                .enabled = [this] { return home_.keeps_files; }});
  commands.add({.id = "file.open_path", .run = [this](const argument& with) {
                  if (const auto* path = std::get_if<std::string>(&with)) home_.opener.open(*path);
                }});
  commands.add({.id = "source.open", .run = [this](const argument& with) {
                  // The argument is "FILE:LINE", where FILE may contain colons too.
                  const auto* text = std::get_if<std::string>(&with);
                  if (text == nullptr) return;
                  const std::size_t colon = text->rfind(':');
                  const std::string file = text->substr(0, colon);
                  const std::uint64_t line =
                      colon == std::string::npos ? 0 : std::strtoull(text->c_str() + colon + 1, nullptr, 10);
                  if (auto opened = open_in_editor(file, line); !opened) home_.notices.say(opened.error().to_string());
                }});
  commands.add({.id = "file.restore",
                .title = "Reopen last session",
                .group = "File",
                .run = [this](const argument&) { home_.opener.reopen_last_session(); },
                .enabled = [this] { return home_.session.all().empty() && !home_.remembered.last_session.empty(); }});
  commands.add({.id = "file.open_live", .run = [this](const argument& with) {
                  if (const auto* path = std::get_if<std::string>(&with)) home_.session.open(*path, true);
                }});
}

void file_commands::add_closing_commands(command_registry& commands) {
  const auto has_document = [this] { return home_.session.active() != nullptr; };
  commands.add({.id = "file.save_as",
                .title = "Save a copy...",
                .group = "File",
                .words = "export recording",
                .run =
                    [this](const argument& with) {
                      if (const auto* path = std::get_if<std::string>(&with)) return save_copy(*path);
                      const document& shown = *home_.session.active();
                      const std::string name =
                          shown.source ? shown.title : std::filesystem::path(shown.path).filename().string();
                      home_.choosers.ask_where_to_save(name, "file.save_as");
                    },
                .enabled =
                    [this] {
                      const document* shown = home_.session.active();
                      return home_.session.ready() && !shown->live && !shown->host;
                    }});
  commands.add({.id = "file.sources_from",
                .title = "Add source folder...",
                .group = "File",
                .run =
                    [this](const argument& with) {
                      const auto* folder = std::get_if<std::string>(&with);
                      if (folder != nullptr) {
                        look_for_sources_in(*folder);
                      } else {
                        home_.choosers.choose_source_folder();
                      }
                    },
                .enabled = has_document});
  commands.add({.id = "file.forget_recent",
                .title = "Clear recent files",
                .group = "File",
                .run = [this](const argument&) { home_.remembered.forget_recent(); },
                .enabled = [this] { return !home_.remembered.recent().empty(); }});
  commands.add({.id = "file.close",
                .title = "Close",
                .group = "File",
                .keys = {ImGuiMod_Ctrl | ImGuiKey_W},
                .run = [this](const argument&) { home_.confirmation.close(home_.session.active()->id); },
                .enabled = has_document});
  commands.add({.id = "file.cancel_opening",
                .title = "Cancel opening",
                .group = "File",
                .icon = icon::stop,
                .run = [this](const argument&) { home_.session.cancel_opening(); },
                .enabled = [this] { return home_.session.opening(); }});
  commands.add({.id = "file.quit",
                .title = "Quit",
                .group = "File",
                .keys = {ImGuiMod_Ctrl | ImGuiKey_Q},
                .run = [this](const argument&) { home_.confirmation.quit(); }});
}

void file_commands::follow() {
  for (const std::string& path : home_.choosers.take_recordings()) home_.opener.open(path);
  if (const auto folder = home_.choosers.take_source_folder()) look_for_sources_in(*folder);
}

void file_commands::save_copy(const std::string& path) {
  document& shown = *home_.session.active();
  if (const std::string problem = copy_recording(shown, path); !problem.empty()) return home_.notices.say(problem);
  shown.copied = true;
  home_.remembered.add_recent(path);
  home_.notices.tell("Saved " + path);
}

void file_commands::look_for_sources_in(const std::string& folder) {
  home_.session.sources_from.push_back(folder);
  home_.session.reopen();
}

}  // namespace sluice::gui
