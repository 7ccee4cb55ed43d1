#include "app/gui/views/search.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

constexpr std::array<table_column, 6> found_columns = {{{"Name", "name"},
                                                        {"Kind", "kind"},
                                                        {"Count", "count"},
                                                        {"Total time", "total_ns"},
                                                        {"First at", "first_ns"},
                                                        {"Longest", "longest_ns"}}};
constexpr std::array<table_column, 1> found_line_columns = {{{"line", "line"}}};

const char* kind_name(trace::row_type kind) {
  switch (kind) {
    case trace::row_type::kernel:
      return "kernel";
    case trace::row_type::api_call:
      return "API call";
    case trace::row_type::host_range:
      return "range";
    case trace::row_type::marker:
      return "marker";
    case trace::row_type::graph_definition:
      return "graph";
    case trace::row_type::file_io:
      return "file";
    case trace::row_type::alloc:
      return "allocation";
    case trace::row_type::alloc_failed:
      return "failed allocation";
    default:
      return "event";
  }
}

}  // namespace

void search_view::add_commands(const command_home& home) {
  const auto ready = [&state = home.state] { return state.ready(); };
  home.commands.add({.id = "search.open",
                     .title = "Find events by name...",
                     .group = "Edit",
                     .icon = icon::search,
                     .keys = {ImGuiMod_Ctrl | ImGuiKey_F},
                     .run = [&commands = home.commands](const argument&) { commands.invoke("panel.focus.Search"); },
                     .enabled = ready});
  home.commands.add({.id = "search.find",
                     .icon = icon::search,
                     .run =
                         [this, &commands = home.commands](const argument& with) {
                           const auto* text = std::get_if<std::string>(&with);
                           find(text != nullptr ? *text : std::string());
                           commands.invoke("panel.focus.Search");
                         },
                     .enabled = ready});
  const auto add_step = [&](const char* id, const char* title, ImGuiKeyChord key, int by) {
    home.commands.add({.id = id,
                       .title = title,
                       .group = "Edit",
                       .keys = {key},
                       .run = [this, by, &state = home.state,
                               &commands = home.commands](const argument&) { step(state, commands, by); },
                       .enabled = [this, ready] { return ready() && found_ != nullptr && !found_->events.empty(); }});
  };
  add_step("search.next", "Next search result", ImGuiKey_F3, 1);
  add_step("search.previous", "Previous search result", ImGuiMod_Shift | ImGuiKey_F3, -1);
  home.commands.add({.id = "search.stop",
                     .title = "Stop search",
                     .group = "Edit",
                     .icon = icon::stop,
                     .run = [this](const argument&) { stop(); },
                     .enabled = [this] { return searching(); }});
}

void search_view::reset() {
  query_ = {};
  found_ = nullptr;
  *hits_ = {};
  searching_ = false;
  stopped_ = false;
}

void search_view::find(const std::string& text) {
  if (!text.empty() && text != text_) {
    ImGui::ClearActiveID();  // While the input box is active, it uses its own copy of the text.
    text_ = text;
  }
  found_ = nullptr;
  stopped_ = false;
}

void search_view::step(const documents& state, const command_registry& commands, int by) const {
  const std::vector<query::found_event>& rows = found_->events;
  const document& shown = *state.active();
  const selection& chosen = state.selected();
  auto at = std::find_if(rows.begin(), rows.end(), [&](const query::found_event& each) {
    return chosen.kind == selection_kind::event && trace::raw(each.event) == chosen.id;
  });
  const bool selected = at != rows.end();
  if (!selected)
    at = std::lower_bound(rows.begin(), rows.end(), shown.visible.begin,
                          [](const query::found_event& each, time_ns time) { return each.begin < time; });
  std::ptrdiff_t place = at - rows.begin();
  if (selected || by < 0) place += by;
  const auto count = static_cast<std::ptrdiff_t>(rows.size());
  place = (place % count + count) % count;  // Wraps around after the last.
  commands.invoke("selection.set",
                  selection{shown.id, selection_kind::event, trace::raw(rows[static_cast<std::size_t>(place)].event)});
  commands.invoke("selection.reveal");
}

void search_view::stop() {
  if (!searching_) return;
  query_ = {};
  searching_ = false;
  stopped_ = true;
}

void search_view::draw(view_context& with) {
  ImGui::SetNextItemWidth(std::min(with.px(320), ImGui::GetContentRegionAvail().x * 0.6F));
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  if (ImGui::InputTextWithHint("##search", "Part of a name or of a line, such as train.py:12", &text_)) find({});
  if (text_.empty()) {
    searching_ = false;
    *hits_ = {};
    return empty_state(with, icon::search, "Find events and lines of code",
                       "Kernels, calls, ranges, markers, files and allocations by a part of their name; lines of code "
                       "and functions in call stacks.");
  }
  if (!stopped_) ask(with);
  draw_state(with);
  *hits_ = {with.state.active()->id, found_};
  if (found_ == nullptr) return;
  draw_lines(with, *found_);
  if (!found_->names.empty()) return draw_table(with, *found_);
  if (!found_->lines.empty() && !searching_) return ImGui::TextDisabled("No event has a matching name.");
  if (searching_) return empty_state(with, icon::search, "Searching", "No results so far.");
  empty_state(with, icon::search, stopped_ ? "Nothing found" : "No matching names",
              stopped_ ? "The search was stopped before it was complete." : "No event or line contains this text.");
}

void search_view::ask(const view_context& with) {
  const auto result = query_.ask(*with.state.active()->engine, {text_});
  searching_ = !result.complete && !result.failure;
  progress_ = result.progress;
  if (result && result->text == text_) found_ = result.value;
  progress_line(with, !searching_, progress_);
}

void search_view::draw_state(const view_context& with) const {
  if (searching_) {
    ImGui::SameLine();
    command_button(with, "search.stop", "Stop");
  } else if (stopped_) {
    ImGui::SameLine();
    command_button(with, "search.find", "Search");
  }
  if (found_ == nullptr) return;
  std::string count = format_some(found_->total, "event") + " of " + format_some(found_->name_count, "name");
  if (searching_) count += " so far, " + format_share(static_cast<double>(progress_)) + " searched";
  if (stopped_) count += " in the " + format_share(static_cast<double>(progress_)) + " that was searched";
  if (found_->names.size() < found_->name_count) count += ", the most frequent shown";
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", count.c_str());
}

/// Lists the lines of code that match. Each line links to the blocks that were allocated through it.
void search_view::draw_lines(const view_context& with, const query::search_results& found) {
  if (found.lines.empty()) return;
  const std::string title = "Lines of code (" + format_count(found.lines.size()) +
                            (found.lines.size() == query::search_results::line_limit ? " or more)" : ")");
  if (!section(with, title, true)) return;
  constexpr std::size_t most = 6;
  table_content content{"Lines of code", found_line_columns, found.lines.size()};
  content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
    to.push_back(table_cell::text(found.lines[row]));
  };
  const auto make_filter = [&](std::size_t row) {
    blocks_filter filter;
    filter.text = found.lines[row];
    return filter;
  };
  content.target = [&](std::size_t row) {
    row_target target;
    target.blocks = make_filter(row);
    return target;
  };
  for (std::size_t i = 0; i < found.lines.size() && i < most; ++i) {
    ImGui::PushID(static_cast<int>(i));
    const ImVec2 begin = ImGui::GetCursorPos();
    bool follow = rows_.item(with, content, i);
    ImGui::SetCursorPos(begin);
    follow = link(with, found.lines[i]) || follow;
    if (follow) with.commands.invoke("blocks.show", make_filter(i));
    ImGui::PopID();
  }
  if (found.lines.size() > most) ImGui::TextDisabled("more: narrow the search");
}

void search_view::draw_table(const view_context& with, const query::search_results& found) {
  const ImGuiTableFlags flags = ImGuiTableFlags_Resizable | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY;
  if (!ImGui::BeginTable("found", 6, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("Name", ImGuiTableColumnFlags_WidthStretch, 3);
  ImGui::TableSetupColumn("Kind", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("Count", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("Total time", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("First at", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("Longest", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableHeadersRow();
  table_content content{"Found events", found_columns, found.names.size()};
  content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
    const query::found_name& each = found.names[row];
    const time_ns length = each.longest.end - each.longest.begin;
    to.push_back(table_cell::text(with.text(each.name)));
    to.push_back(table_cell::text(kind_name(each.kind)));
    to.push_back(table_cell::count(each.count));
    to.push_back(each.time > 0 ? table_cell::duration(each.time) : table_cell::none());
    to.push_back(table_cell::moment(each.first.begin));
    to.push_back(length > 0 ? table_cell::duration(length) : table_cell::none(""));
  };
  content.target = [&](std::size_t row) {
    row_target target;
    target.shows = make_event_selection(with, found.names[row].first.event);
    return target;
  };
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(found.names.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      ImGui::PushID(i);
      draw_row(with, content, static_cast<std::size_t>(i), found.names[static_cast<std::size_t>(i)]);
      ImGui::PopID();
    }
  ImGui::EndTable();
}

void search_view::draw_row(const view_context& with, const table_content& content, std::size_t at,
                           const query::found_name& row) {
  const bool chosen =
      with.state.selected().kind == selection_kind::event && with.state.selected().id == trace::raw(row.first.event);
  if (rows_.begin_row(with, content, at, chosen)) go_to(with, row.first);
  const std::vector<table_cell>& cells = rows_.cells(content, at);
  clipped_text(cells[0].shown(), ImGui::GetContentRegionAvail().x);
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(cells[1].shown().c_str());
  for (std::size_t i = 2; i < 5; ++i) {
    ImGui::TableNextColumn();
    right_text(cells[i].shown(), cells[i].muted());
  }
  ImGui::TableNextColumn();
  if (!cells[5].muted() && link(with, cells[5].shown())) go_to(with, row.longest);
}

void search_view::go_to(const view_context& with, const query::found_event& event) {
  with.commands.invoke("selection.set",
                       selection{with.state.active()->id, selection_kind::event, trace::raw(event.event)});
  with.commands.invoke("selection.reveal");
}

}  // namespace sluice::gui
