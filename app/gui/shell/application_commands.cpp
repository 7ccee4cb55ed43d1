#include <algorithm>

#include "app/gui/shell/application.hpp"
#include "core/base/saturating.hpp"
#include "portable_file_dialogs.h"

namespace sluice::gui {

struct application::file_dialog {
  pfd::open_file dialog;
};

struct application::folder_dialog {
  pfd::select_folder dialog;
};

void application::add_commands() {
  add_file_commands();
  add_timeline_commands();
  add_selection_commands();
  add_memory_commands();
  add_window_commands();
  add_query_commands();
  add_search_commands();
}

void application::add_file_commands() {
  const auto has_document = [this] { return session_.active() != nullptr; };
  commands_.add({.id = "file.open",
                 .title = "Open...",
                 .group = "File",
                 .icon = icon::open,
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_O},
                 .run = [this](const argument&) { choose_file(); }});
  commands_.add({.id = "file.open_path", .run = [this](const argument& with) {
                   if (const auto* path = std::get_if<std::string>(&with)) open(*path);
                 }});
  commands_.add({.id = "file.sources_from",
                 .title = "Look for sources in...",
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
                 .title = "Forget recent files",
                 .group = "File",
                 .run = [this](const argument&) { settings_.forget_recent(); },
                 .enabled = [this] { return !settings_.recent().empty(); }});
  commands_.add({.id = "file.close",
                 .title = "Close",
                 .group = "File",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_W},
                 .run = [this](const argument&) { session_.close(session_.active()->id); },
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
                 .run = [this](const argument&) { closing_ = true; }});
  commands_.add({.id = "demo.start",
                 .run =
                     [this](const argument& with) {
                       if (const auto* name = std::get_if<std::string>(&with)) start_demo(*name);
                     },
                 .enabled = [this] { return !demo_.running(); }});
  for (const demo_entry& each : options_.demos)
    commands_.add({.id = "demo.start." + each.name,
                   .title = each.name,
                   .group = "Demo",
                   .icon = icon::play,
                   .run = [this, name = each.name](const argument&) { start_demo(name); },
                   .enabled = [this] { return !demo_.running(); }});
  commands_.add({.id = "demo.stop",
                 .title = "Stop",
                 .group = "Demo",
                 .icon = icon::stop,
                 .run = [this](const argument&) { demo_.stop(); },
                 .enabled = [this] { return demo_.running() && !demo_.stopping(); }});
}

void application::add_timeline_commands() {
  const auto ready = [this] { return session_.active() != nullptr && session_.active()->ready(); };
  const auto zoom = [this](double factor) {
    const query::time_range from = session_.active()->target;
    const double middle = static_cast<double>(from.begin) + static_cast<double>(from.length()) * 0.5;
    const auto& over = timeline_->hovered_time();
    const double about = over ? static_cast<double>(*over) : middle;
    const double share =
        std::clamp((about - static_cast<double>(from.begin)) / static_cast<double>(from.length()), 0.0, 1.0);
    const double length = std::max(static_cast<double>(from.length()) * factor, 2.0);
    const double begin = about - length * share;
    session_.show({saturating_cast<query::time_ns>(begin), saturating_cast<query::time_ns>(begin + length)}, true);
  };
  const auto pan = [this](double share) {
    const query::time_range from = session_.active()->target;
    const auto shift = saturating_cast<query::time_ns>(static_cast<double>(from.length()) * share);
    session_.show({saturating_sum(from.begin, shift), saturating_sum(from.end, shift)}, true);
  };
  commands_.add({.id = "timeline.zoom_in",
                 .title = "Zoom in",
                 .group = "Timeline",
                 .icon = icon::zoom_in,
                 .keys = {ImGuiKey_W},
                 .repeats = true,
                 .run = [zoom](const argument&) { zoom(0.7); },
                 .enabled = ready});
  commands_.add({.id = "timeline.zoom_out",
                 .title = "Zoom out",
                 .group = "Timeline",
                 .icon = icon::zoom_out,
                 .keys = {ImGuiKey_S},
                 .repeats = true,
                 .run = [zoom](const argument&) { zoom(1 / 0.7); },
                 .enabled = ready});
  commands_.add({.id = "timeline.pan_left",
                 .title = "Move left",
                 .group = "Timeline",
                 .keys = {ImGuiKey_A},
                 .repeats = true,
                 .run = [pan](const argument&) { pan(-0.12); },
                 .enabled = ready});
  commands_.add({.id = "timeline.pan_right",
                 .title = "Move right",
                 .group = "Timeline",
                 .keys = {ImGuiKey_D},
                 .repeats = true,
                 .run = [pan](const argument&) { pan(0.12); },
                 .enabled = ready});
  commands_.add({.id = "timeline.fit",
                 .title = "Show all",
                 .group = "Timeline",
                 .icon = icon::fit,
                 .keys = {ImGuiKey_F},
                 .run =
                     [this](const argument&) {
                       const query::time_range span = session_.active()->span;
                       session_.go_to({span.begin - span.length(), span.end + span.length()}, true);
                     },
                 .enabled = ready});
  commands_.add({.id = "timeline.by_category",
                 .title = "Colour memory by category",
                 .group = "Timeline",
                 .keys = {ImGuiKey_C},
                 .run =
                     [this](const argument&) {
                       session_.memory_by_category = !session_.memory_by_category;
                       settings_.memory_by_category = session_.memory_by_category;
                       settings_.save();
                     },
                 .enabled = ready,
                 .checked = [this] { return session_.memory_by_category; }});
  commands_.add({.id = "timeline.zoom_to_range",
                 .title = "Zoom to the selected range",
                 .group = "Timeline",
                 .keys = {ImGuiKey_Z},
                 .run =
                     [this](const argument&) {
                       const query::time_range range = *session_.range();
                       const query::time_ns air = range.length() / 30 + 1;
                       session_.go_to({range.begin - air, range.end + air}, true);
                     },
                 .enabled = [this, ready] { return ready() && session_.range().has_value(); }});
  // What the views need: they name the range themselves.
  const auto with_range = [this](void (*act)(session&, query::time_range)) {
    return [this, act](const argument& with) {
      if (const auto* range = std::get_if<query::time_range>(&with); range != nullptr && range->length() > 0)
        act(session_, *range);
    };
  };
  commands_.add({.id = "timeline.show",
                 .run = with_range([](session& s, query::time_range r) { s.show(r, false); }),
                 .enabled = ready});
  commands_.add({.id = "timeline.glide",
                 .run = with_range([](session& s, query::time_range r) { s.show(r, true); }),
                 .enabled = ready});
  commands_.add({.id = "timeline.go_to",
                 .run = with_range([](session& s, query::time_range r) { s.go_to(r, true); }),
                 .enabled = ready});
  commands_.add({.id = "timeline.pan",
                 .run =
                     [pan](const argument& with) {
                       if (const auto* share = std::get_if<double>(&with)) pan(*share);
                     },
                 .enabled = ready});
}

void application::add_selection_commands() {
  const auto ready = [this] { return session_.active() != nullptr && session_.active()->ready(); };
  commands_.add({.id = "selection.back",
                 .title = "Back",
                 .group = "Go",
                 .icon = icon::back,
                 .keys = {ImGuiMod_Alt | ImGuiKey_LeftArrow},
                 .run = [this](const argument&) { session_.back(); },
                 .enabled = [this] { return session_.can_go_back(); }});
  commands_.add({.id = "selection.forward",
                 .title = "Forward",
                 .group = "Go",
                 .icon = icon::forward,
                 .keys = {ImGuiMod_Alt | ImGuiKey_RightArrow},
                 .run = [this](const argument&) { session_.forward(); },
                 .enabled = [this] { return session_.can_go_forward(); }});
  commands_.add({.id = "selection.reveal",
                 .title = "Show the selection",
                 .group = "Go",
                 .icon = icon::search,
                 .keys = {ImGuiKey_E},
                 .run = [this](const argument&) { reveal_ = true; },
                 .enabled =
                     [this, ready] {
                       const selection_kind kind = session_.selected().kind;
                       return ready() && (kind == selection_kind::event || kind == selection_kind::block);
                     }});
  commands_.add({.id = "selection.clear",
                 .title = "Clear selection",
                 .group = "Go",
                 .keys = {ImGuiKey_Escape},
                 .run =
                     [this](const argument&) {
                       if (query_->busy()) return query_->cancel();
                       session_.select({session_.active()->id, selection_kind::none, 0});
                       session_.select_range(std::nullopt);
                       session_.set_moment(std::nullopt);
                     },
                 .enabled =
                     [this, ready] {
                       return ready() && (query_->busy() || session_.range() || session_.moment() ||
                                          session_.selected().kind != selection_kind::none);
                     }});
  commands_.add({.id = "selection.set",
                 .run =
                     [this](const argument& with) {
                       if (const auto* what = std::get_if<selection>(&with)) {
                         session_.select(*what);
                         if (what->kind == selection_kind::event || what->kind == selection_kind::block)
                           show_answer("Details");
                       }
                     },
                 .enabled = ready});
  commands_.add({.id = "selection.range",
                 .run =
                     [this](const argument& with) {
                       if (const auto* range = std::get_if<query::time_range>(&with);
                           range != nullptr && range->length() > 0) {
                         session_.select_range(*range);
                         show_answer("Statistics");
                       }
                     },
                 .enabled = ready});
}

void application::add_memory_commands() {
  const auto ready = [this] { return session_.active() != nullptr && session_.active()->ready(); };
  commands_.add({.id = "map.open",
                 .title = "Memory map of the moment",
                 .group = "Go",
                 .keys = {ImGuiKey_M},
                 .run = [this](const argument&) { commands_.invoke("panel.focus.Memory map"); },
                 .enabled = ready});
  commands_.add({.id = "moment.set",
                 .run =
                     [this](const argument& with) {
                       if (const auto* at = std::get_if<query::time_range>(&with)) session_.set_moment(at->begin);
                     },
                 .enabled = ready});
  commands_.add({.id = "moment.previous",
                 .title = "Previous allocation event",
                 .group = "Go",
                 .icon = icon::previous,
                 .keys = {ImGuiKey_Comma},
                 .repeats = true,
                 .run = [this](const argument&) { map_->step(false); },
                 .enabled = ready});
  commands_.add({.id = "moment.next",
                 .title = "Next allocation event",
                 .group = "Go",
                 .icon = icon::next,
                 .keys = {ImGuiKey_Period},
                 .repeats = true,
                 .run = [this](const argument&) { map_->step(true); },
                 .enabled = ready});
  commands_.add({.id = "moment.peak",
                 .title = "Go to peak",
                 .group = "Go",
                 .run = [this](const argument&) { session_.set_moment(std::nullopt); },
                 .enabled = [this, ready] { return ready() && session_.moment().has_value(); }});
  const auto shown = [this, ready] { return ready() && map_->shown() != nullptr; };
  commands_.add({.id = "map.zoom_in",
                 .title = "Zoom in on the map",
                 .group = "Memory map",
                 .icon = icon::zoom_in,
                 .run = [this](const argument&) { map_->zoom(0.5); },
                 .enabled = shown});
  commands_.add({.id = "map.zoom_out",
                 .title = "Zoom out of the map",
                 .group = "Memory map",
                 .icon = icon::zoom_out,
                 .run = [this](const argument&) { map_->zoom(2); },
                 .enabled = shown});
  commands_.add({.id = "map.fit",
                 .title = "Fit the map",
                 .group = "Memory map",
                 .icon = icon::expand,
                 .run = [this](const argument&) { map_->fit(); },
                 .enabled = shown});
}

void application::add_window_commands() {
  commands_.add({.id = "window.palette",
                 .title = "Find a command...",
                 .group = "View",
                 .icon = icon::search,
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_P},
                 .run = [this](const argument&) {
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
                 .title = "Normal text size",
                 .group = "View",
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_0},
                 .run = [resize](const argument&) { resize(0); }});
  for (const auto& each : views_) {
    if (each.get() == timeline_) continue;
    commands_.add({.id = std::string("panel.") + each->name(),
                   .title = each->name(),
                   .group = "Panels",
                   .run = [which = each.get()](const argument&) { which->visible = !which->visible; },
                   .checked = [which = each.get()] { return which->visible; }});
    commands_.add({.id = std::string("panel.focus.") + each->name(), .run = [which = each.get()](const argument&) {
                     which->visible = true;
                     ImGui::SetWindowFocus(which->name());
                   }});
  }
  commands_.add(
      {.id = "window.reset_layout", .title = "Reset the layout", .group = "Panels", .run = [this](const argument&) {
         for (const auto& each : views_) each->visible = true;
         layout_wanted_ = true;
       }});
  commands_.add({.id = "help.keys",
                 .title = "Keys and mouse",
                 .group = "Help",
                 .keys = {ImGuiKey_F1},
                 .run = [this](const argument&) { keys_open_ = !keys_open_; }});
  commands_.add({.id = "help.about", .title = "About Sluice", .group = "Help", .run = [this](const argument&) {
                   about_open_ = true;
                 }});
}

void application::add_query_commands() {
  const auto ready = [this] { return session_.active() != nullptr && session_.active()->ready(); };
  const auto has_rows = [this, ready] { return ready() && query_->has_rows(); };
  commands_.add({.id = "query.run",
                 .title = "Run the query",
                 .group = "Query",
                 .icon = icon::play,
                 .run =
                     [this](const argument& with) {
                       const auto* text = std::get_if<std::string>(&with);
                       query_->visible = true;
                       bring_forward("Query");
                       query_->ask(text != nullptr ? *text : std::string());
                     },
                 .enabled = ready});
  commands_.add({.id = "query.remember", .run = [this](const argument& with) {
                   if (const auto* text = std::get_if<std::string>(&with)) settings_.add_query(*text);
                 }});
  commands_.add({.id = "query.cancel",
                 .title = "Stop the query",
                 .group = "Query",
                 .icon = icon::stop,
                 .run = [this](const argument&) { query_->cancel(); },
                 .enabled = [this] { return query_->busy(); }});
  commands_.add({.id = "query.copy",
                 .title = "Copy the answer as CSV",
                 .group = "Query",
                 .run = [this](const argument&) { query_->copy(); },
                 .enabled = has_rows});
  commands_.add({.id = "query.save",
                 .title = "Save all rows as CSV...",
                 .group = "Query",
                 .run =
                     [this](const argument& with) {
                       const auto* path = std::get_if<std::string>(&with);
                       query_->save(path != nullptr ? *path : std::string());
                     },
                 .enabled = has_rows});
}

void application::add_search_commands() {
  const auto ready = [this] { return session_.active() != nullptr && session_.active()->ready(); };
  commands_.add({.id = "search.open",
                 .title = "Find events by name...",
                 .group = "Go",
                 .icon = icon::search,
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_F},
                 .run = [this](const argument&) { commands_.invoke("panel.focus.Search"); },
                 .enabled = ready});
  commands_.add({.id = "search.find",
                 .icon = icon::search,
                 .run =
                     [this](const argument& with) {
                       const auto* text = std::get_if<std::string>(&with);
                       search_->find(text != nullptr ? *text : std::string());
                       commands_.invoke("panel.focus.Search");
                     },
                 .enabled = ready});
  commands_.add({.id = "search.stop",
                 .title = "Stop the search",
                 .group = "Go",
                 .icon = icon::stop,
                 .run = [this](const argument&) { search_->stop(); },
                 .enabled = [this] { return search_->searching(); }});
}

void application::choose_file() {
  if (!dialog_) {
    if (!pfd::settings::available()) {
      notice_ = "no file dialog here: install zenity or kdialog, drop the file on the window, or start `sluice FILE`";
      return;
    }
    dialog_ = std::make_shared<file_dialog>(file_dialog{
        pfd::open_file("Open a recording", "",
                       {"Recordings", "*.sluice *.pickle *.gz *.json *.sqlite *.csv *.dev*", "All files", "*"})});
    return;
  }
  if (!dialog_->dialog.ready(0)) return;
  const std::vector<std::string> chosen = dialog_->dialog.result();
  dialog_.reset();
  for (const std::string& path : chosen) open(path);
}

void application::choose_sources() {
  if (!sources_dialog_) {
    if (!pfd::settings::available()) {
      notice_ = "no file dialog here: install zenity or kdialog, or start `sluice FILE --sources-from FOLDER`";
      return;
    }
    sources_dialog_ =
        std::make_shared<folder_dialog>(folder_dialog{pfd::select_folder("Look for sources and symbols in", "")});
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
