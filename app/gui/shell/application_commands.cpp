#include <algorithm>
#include <filesystem>

#include "app/gui/shell/application.hpp"
#include "app/gui/shell/editor.hpp"
#include "core/base/replacement.hpp"
#include "core/trace/file/byte_source.hpp"
#include "imgui_internal.h"
#include "portable_file_dialogs.h"

namespace sluice::gui {

struct application::file_dialog {
  pfd::open_file dialog;
};

struct application::folder_dialog {
  pfd::select_folder dialog;
};

void application::add_commands() {
  // Menus list the commands of a group in this order: in "Analyze", those of the views follow those of the selection.
  add_file_commands();
  add_recording_commands();
  add_saving_commands();
  add_selection_commands();
  for (const auto& each : views_) each->add_commands({commands_, session_, settings_});
  add_window_commands();
}

void application::add_file_commands() {
  const auto has_document = [this] { return session_.active() != nullptr; };
  commands_.add({.id = "file.open",
                 .title = "Open...",
                 .group = "File",
                 .icon = icon::open,
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_O},
                 .run = [this](const argument&) { choose_file(); }});
  commands_.add({.id = "file.type_path",
                 .title = "Open by path...",
                 .group = "File",
                 .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_O},
                 .run = [this](const argument&) { paths_.open(last_folder()); },
                 .enabled = [this] { return options_.around.keeps_files; }});
  commands_.add({.id = "file.open_path", .run = [this](const argument& with) {
                   if (const auto* path = std::get_if<std::string>(&with)) open(*path);
                 }});
  commands_.add({.id = "source.open", .run = [this](const argument& with) {
                   // The argument is "FILE:LINE", where FILE may contain colons too.
                   const auto* text = std::get_if<std::string>(&with);
                   if (text == nullptr) return;
                   const std::size_t colon = text->rfind(':');
                   const std::string file = text->substr(0, colon);
                   const std::uint64_t line =
                       colon == std::string::npos ? 0 : std::strtoull(text->c_str() + colon + 1, nullptr, 10);
                   if (auto opened = open_in_editor(file, line); !opened) notice_ = opened.error().to_string();
                 }});
  commands_.add({.id = "file.restore",
                 .title = "Reopen last session",
                 .group = "File",
                 .run = [this](const argument&) { restore_session(); },
                 .enabled = [this] { return session_.all().empty() && !settings_.last_session.empty(); }});
  commands_.add({.id = "file.open_live", .run = [this](const argument& with) {
                   if (const auto* path = std::get_if<std::string>(&with)) session_.open(*path, true);
                 }});
  commands_.add({.id = "file.save_as",
                 .title = "Save a copy...",
                 .group = "File",
                 .words = "export recording",
                 .run =
                     [this](const argument& with) {
                       const auto* path = std::get_if<std::string>(&with);
                       if (path != nullptr) {
                         save_recording(*path);
                       } else {
                         const document& shown = *session_.active();
                         const std::string name =
                             shown.source ? shown.title : std::filesystem::path(shown.path).filename().string();
                         ask_where_to_save(name, "file.save_as");
                       }
                     },
                 .enabled =
                     [this] {
                       const document* shown = session_.active();
                       return session_.ready() && !shown->live && !shown->answerer;
                     }});
  commands_.add({.id = "file.sources_from",
                 .title = "Add source folder...",
                 .group = "File",
                 .run =
                     [this](const argument& with) {
                       const auto* folder = std::get_if<std::string>(&with);
                       if (folder != nullptr) {
                         look_for_sources_in(*folder);
                       } else {
                         choose_sources();
                       }
                     },
                 .enabled = has_document});
  commands_.add({.id = "file.forget_recent",
                 .title = "Clear recent files",
                 .group = "File",
                 .run = [this](const argument&) { settings_.forget_recent(); },
                 .enabled = [this] { return !settings_.recent().empty(); }});
  commands_.add({.id = "file.close",
                 .title = "Close",
                 .group = "File",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_W},
                 .run = [this](const argument&) { close(session_.active()->id); },
                 .enabled = has_document});
  commands_.add({.id = "file.cancel_opening",
                 .title = "Cancel opening",
                 .group = "File",
                 .icon = icon::stop,
                 .run = [this](const argument&) { session_.cancel_opening(); },
                 .enabled = [this] { return session_.opening(); }});
  commands_.add({.id = "file.quit",
                 .title = "Quit",
                 .group = "File",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_Q},
                 .run = [this](const argument&) { quit(); }});
}

void application::add_selection_commands() {
  const auto ready = [this] { return session_.ready(); };
  commands_.add({.id = "selection.back",
                 .title = "Back",
                 .group = "Analyze",
                 .icon = icon::back,
                 .keys = {ImGuiMod_Alt | ImGuiKey_LeftArrow},
                 .run = [this](const argument&) { session_.back(); },
                 .enabled = [this] { return session_.can_go_back(); }});
  commands_.add({.id = "selection.forward",
                 .title = "Forward",
                 .group = "Analyze",
                 .icon = icon::forward,
                 .keys = {ImGuiMod_Alt | ImGuiKey_RightArrow},
                 .run = [this](const argument&) { session_.forward(); },
                 .enabled = [this] { return session_.can_go_forward(); }});
  commands_.add({.id = "selection.reveal",
                 .title = "Zoom to selection",
                 .group = "Analyze",
                 .icon = icon::search,
                 .keys = {ImGuiKey_E},
                 .run =
                     [this](const argument&) {
                       reveal_ = true;
                       reveal_is_step_ = !session_.in_step();
                     },
                 .enabled =
                     [this, ready] {
                       const selection_kind kind = session_.selected().kind;
                       return ready() && (kind == selection_kind::event || kind == selection_kind::block);
                     }});
  commands_.add({.id = "selection.clear",
                 .title = "Clear selection",
                 .group = "Analyze",
                 .keys = {ImGuiKey_Escape},
                 .run =
                     [this](const argument&) {
                       if (close_topmost()) return;
                       if (view* at_work = cancellable()) return at_work->cancel();
                       if (!ready_to_clear()) return;
                       session_.select_nothing();
                     },
                 .enabled =
                     [this] {
                       return palette_open_ || quit_asked_ || close_asked_ != document_id::none || keys_open_ ||
                              words_open_ || about_open_ || paths_.is_open() || record_dialog_.is_open() ||
                              !notice_.empty() || !reported_.empty() || cancellable() != nullptr || ready_to_clear();
                     }});
  commands_.add({.id = "selection.set",
                 .run =
                     [this](const argument& with) {
                       if (const auto* what = std::get_if<selection>(&with)) {
                         session_.select(*what);
                         if (what->kind == selection_kind::event || what->kind == selection_kind::block)
                           bring_forward(topic::selection);
                       }
                     },
                 .enabled = ready});
  // Used by links in a panel that should stay in front.
  commands_.add({.id = "selection.mark",
                 .run =
                     [this](const argument& with) {
                       if (const auto* range = std::get_if<time_range>(&with); range != nullptr && range->length() > 0)
                         session_.mark(*range);
                     },
                 .enabled = ready});
  commands_.add({.id = "selection.range",
                 .run =
                     [this](const argument& with) {
                       if (const auto* range = std::get_if<time_range>(&with);
                           range != nullptr && range->length() > 0) {
                         session_.select_range(*range);
                         bring_forward(topic::range);
                       }
                     },
                 .enabled = ready});
}

void application::add_window_commands() {
  commands_.add({.id = "window.palette",
                 .title = "Find command...",
                 .group = "View",
                 .icon = icon::search,
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_P},
                 .run = [this](const argument&) {
                   const ImGuiWindow* over = ImGui::GetCurrentContext()->NavWindow;
                   palette_over_ = over == nullptr ? 0 : over->ID;
                   palette_open_ = true;
                   palette_text_.clear();
                   palette_choice_ = 0;
                 }});
  commands_.add({.id = "window.theme",
                 .title = "Light theme",
                 .group = "View",
                 .keys = {ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_L},
                 .run =
                     [this](const argument&) {
                       settings_.theme = settings_.theme == theme_kind::dark ? theme_kind::light : theme_kind::dark;
                       settings_.save();
                       restyle_ = true;
                     },
                 .checked = [this] { return settings_.theme == theme_kind::light; }});
  const auto resize = [this](float factor) {
    settings_.text_scale = factor == 0 ? 1.0F : std::clamp(settings_.text_scale * factor, 0.7F, 2.5F);
    settings_.save();
    restyle_ = true;
  };
  commands_.add({.id = "window.larger",
                 .title = "Larger text",
                 .group = "View",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_Equal, ImGuiMod_Ctrl | ImGuiKey_KeypadAdd},
                 .run = [resize](const argument&) { resize(1.1F); }});
  commands_.add({.id = "window.smaller",
                 .title = "Smaller text",
                 .group = "View",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_Minus, ImGuiMod_Ctrl | ImGuiKey_KeypadSubtract},
                 .run = [resize](const argument&) { resize(1 / 1.1F); }});
  commands_.add({.id = "window.normal_text",
                 .title = "Default text size",
                 .group = "View",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_0},
                 .run = [resize](const argument&) { resize(0); }});
  for (const auto& each : views_) {
    if (each->place() == panel_place::centre) continue;
    commands_.add({.id = std::string("panel.") + each->name(),
                   .title = each->name(),
                   .group = "Panels",
                   .run =
                       [this, which = each.get()](const argument&) {
                         if (which->visible) {
                           which->visible = false;
                         } else {
                           raise(*which);
                         }
                       },
                   .checked = [which = each.get()] { return which->visible; }});
    commands_.add({.id = std::string("panel.focus.") + each->name(),
                   .run = [this, which = each.get()](const argument&) { raise(*which); }});
  }
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
    commands_.add({.id = each.id, .title = each.title, .group = "Layouts", .run = [this, each](const argument&) {
                     arrange(each.below, each.right, each.share);
                   }});
  commands_.add({.id = "help.keys",
                 .title = "Keyboard and mouse",
                 .group = "Help",
                 .keys = {ImGuiKey_F1, ImGuiMod_Shift | ImGuiKey_Slash},
                 .run = [this](const argument&) { keys_open_ = !keys_open_; }});
  commands_.add({.id = "help.words", .title = "Glossary", .group = "Help", .run = [this](const argument&) {
                   words_open_ = !words_open_;
                 }});
  commands_.add({.id = "help.about", .title = "About Sluice", .group = "Help", .run = [this](const argument&) {
                   about_open_ = true;
                 }});
}

/// Closes the topmost dialog, notice or pop-up above the panels. Returns false if there is none.
bool application::close_topmost() {
  for (bool* open : {&palette_open_, &quit_asked_, &keys_open_, &words_open_, &about_open_})
    if (*open) {
      *open = false;
      return true;
    }
  if (std::exchange(close_asked_, document_id::none) != document_id::none) return true;
  if (paths_.is_open()) {
    paths_.close();
    return true;
  }
  if (record_dialog_.is_open()) {
    record_dialog_.close();
    return true;
  }
  reported_.clear();
  if (notice_.empty()) return false;
  notice_.clear();
  return true;
}

bool application::ready_to_clear() const {
  return session_.ready() &&
         (session_.range() || session_.moment() || session_.selected().kind != selection_kind::none);
}

/// The folder of the file that was opened last.
std::string application::last_folder() const {
  std::error_code failed;
  for (const std::string& path : settings_.recent()) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (std::filesystem::is_directory(folder, failed)) return folder.string();
  }
  return {};
}

void application::choose_file() {
  if (options_.around.choose_file) return options_.around.choose_file();
  if (!pfd::settings::available()) return paths_.open(last_folder());
  // A dialog that is already open may be behind the window and cannot be raised, so it is replaced by a new one, which
  // comes to the front.
  if (dialog_) dialog_->dialog.kill();
  dialog_ = std::make_shared<file_dialog>(file_dialog{
      pfd::open_file("Open a recording", last_folder(), {"Recordings", recording_patterns, "All files", "*"})});
}

void application::take_chosen_file() {
  if (!dialog_->dialog.ready(0)) return;
  const std::vector<std::string> chosen = dialog_->dialog.result();
  dialog_.reset();
  for (const std::string& path : chosen) open(path);
}

/// Copies the active document's file to `to`. The document may be a demo's recording, whose file is deleted when the
/// document is closed.
void application::save_recording(const std::string& to) {
  auto place = replacement::of_file(to);
  std::error_code failed;
  if (const auto& source = session_.active()->source; place && source) {
    if (const auto copied = copy_bytes(*source, place->descriptor()); !copied) {
      notice_ = "The recording cannot be saved as " + to + ": " + copied.error().to_string();
      return;
    }
  } else if (place) {
    const auto over = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(session_.active()->path, place->path(), over, failed);
  }
  if (!place || failed) {
    notice_ = place ? "The recording cannot be saved as " + to + ": " + failed.message() : place.error().to_string();
    return;
  }
  if (auto done = place->commit(); !done) {
    notice_ = done.error().to_string();
    return;
  }
  if (document* saved = session_.active()) saved->copied = true;
  settings_.add_recent(to);
  tell("Saved " + to);
}

void application::choose_sources() {
  if (!sources_dialog_) {
    if (!pfd::settings::available()) {
      notice_ =
          "No dialog for choosing a folder is installed on this machine: install zenity or kdialog, or start the "
          "window "
          "with `sluice FILE --sources-from FOLDER`";
      return;
    }
    sources_dialog_ =
        std::make_shared<folder_dialog>(folder_dialog{pfd::select_folder("Folder with sources and symbols", "")});
    return;
  }
  if (!sources_dialog_->dialog.ready(0)) return;
  const std::string chosen = sources_dialog_->dialog.result();
  sources_dialog_.reset();
  if (!chosen.empty()) look_for_sources_in(chosen);
}

void application::look_for_sources_in(const std::string& folder) {
  session_.sources_from.push_back(folder);
  session_.reopen();
}

}  // namespace sluice::gui
