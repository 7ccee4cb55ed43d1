#include "app/gui/shell/files/file_commands.hpp"

#include <cstdlib>
#include <filesystem>

#include "app/gui/shell/programs/editor.hpp"
#include "app/gui/shell/side_files.hpp"
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
  static constexpr auto has_document = [](auto& at) { return at->home_.session.active() != nullptr; };
  static constexpr command_row<file_commands*> rows[] = {
      {.id = "file.open",
       .title = "Open...",
       .group = "File",
       .icon = icon::open,
       .keys = {ImGuiMod_Ctrl | ImGuiKey_O},
       .run = [](auto& at, auto&) { at->home_.choosers.choose_recordings(); }},
      {.id = "file.compare_two",
       .title = "Compare two recordings...",
       .group = "Compare",
       .icon = icon::open,
       .run =
           [](auto& at, auto&) {
             at->comparing_ = true;
             at->home_.choosers.choose_recordings();
           },
       .enabled = [](auto& at) { return at->home_.session.all().empty(); }},
      {.id = "file.type_path",
       .title = "Open by path...",
       .group = "File",
       .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_O},
       .run = [](auto& at, auto&) { at->home_.choosers.type_path(); },
       .enabled = [](auto& at) { return bool{at->home_.keeps_files}; }},
      {.id = "file.open_path",
       .run =
           [](auto& at, auto& with) {
             if (const auto* path = std::get_if<std::string>(&with)) at->home_.opener.open(*path);
           }},
      {.id = "source.open",
       .run =
           [](auto& at, auto& with) {
             if (const auto* place = std::get_if<std::string>(&with)) at->open_source(*place);
           }},
      {.id = "file.restore",
       .title = "Reopen last session",
       .group = "File",
       .run = [](auto& at, auto&) { at->home_.opener.reopen_last_session(); },
       .enabled =
           [](auto& at) { return at->home_.session.all().empty() && !at->home_.remembered.last_session.empty(); }},
      {.id = "file.open_live",
       .run =
           [](auto& at, auto& with) {
             if (const auto* path = std::get_if<std::string>(&with)) at->home_.session.open(*path, true);
           }},
      {.id = "file.save_as",
       .title = "Save a copy...",
       .group = "File",
       .words = "export recording",
       .run = [](auto& at, auto& with) { at->save_as(std::get_if<std::string>(&with)); },
       .enabled =
           [](auto& at) {
             const document* shown = at->home_.session.active();
             return at->home_.session.ready() && !shown->live && !shown->host;
           }},
      {.id = "file.sources_from",
       .title = "Add source folder...",
       .group = "File",
       .run =
           [](auto& at, auto& with) {
             const auto* folder = std::get_if<std::string>(&with);
             if (folder != nullptr) return at->look_for_sources_in(*folder);
             at->home_.choosers.choose_source_folder();
           },
       .enabled = has_document},
      {.id = "file.forget_recent",
       .title = "Clear recent files",
       .group = "File",
       .run = [](auto& at, auto&) { at->home_.remembered.forget_recent(); },
       .enabled = [](auto& at) { return !at->home_.remembered.recent().empty(); }},
      {.id = "file.close",
       .title = "Close",
       .group = "File",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_W},
       .run = [](auto& at, auto& with) { at->close(with); },
       .enabled = has_document},
      {.id = "file.cancel_opening",
       .title = "Cancel opening",
       .group = "File",
       .icon = icon::stop,
       .run = [](auto& at, auto&) { at->home_.session.cancel_opening(); },
       .enabled = [](auto& at) { return at->home_.session.opening(); }},
      {.id = "file.quit",
       .title = "Quit",
       .group = "File",
       .keys = {ImGuiMod_Ctrl | ImGuiKey_Q},
       .run = [](auto& at, auto&) { at->home_.confirmation.quit(); }}};
  commands.add(rows, this);
  comparisons_.add_commands(commands);
}

void file_commands::open(const std::vector<std::string>& paths) {
  for (const std::string& each : paths) home_.opener.open(each);
  if (paths.size() == 2 && !is_saved_view(paths[0]) && !is_saved_view(paths[1]))
    comparisons_.expect(paths[0], paths[1]);
}

void file_commands::close(const argument& with) {
  documents& session = home_.session;
  if (const auto* which = std::get_if<selection>(&with)) return home_.confirmation.close(which->document);
  if (const compared_documents* front = session.comparisons.front()) return session.comparisons.close(*front);
  home_.confirmation.close(session.active()->id);
}

/// Opens a line of code in the editor. `place`: "FILE:LINE", where FILE may contain colons too.
void file_commands::open_source(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const std::string file = place.substr(0, colon);
  const std::uint64_t line = colon == std::string::npos ? 0 : std::strtoull(place.c_str() + colon + 1, nullptr, 10);
  if (auto opened = open_in_editor(file, line); !opened) home_.notices.say(opened.error().to_string());
}

/// Copies the active document's file to `path`; if it is null, asks the user for a path.
void file_commands::save_as(const std::string* path) {
  if (path != nullptr) return save_copy(*path);
  const document& shown = *home_.session.active();
  const std::string name = shown.source ? shown.title : std::filesystem::path(shown.path).filename().string();
  home_.choosers.ask_where_to_save(name, "file.save_as");
}

void file_commands::follow() {
  comparisons_.follow();
  for (const std::string& path : home_.choosers.take_recordings()) home_.opener.open(path);
  follow_comparison();
  if (const auto folder = home_.choosers.take_source_folder()) look_for_sources_in(*folder);
}

/// Once the first of two recordings is open, asks for the other.
void file_commands::follow_comparison() {
  if (!comparing_ || home_.session.opening() || home_.choosers.is_choosing() || home_.commands.any_queued()) return;
  comparing_ = home_.session.active() != nullptr && !home_.session.ready();  // Not if the user chose none.
  if (home_.session.ready()) home_.commands.invoke("compare.with");
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
