#include "app/gui/views/search.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

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
  static constexpr auto found_any = [](auto& at) {
    return at.state.ready() && at.self.found_ != nullptr && !at.self.found_->events.empty();
  };
  static constexpr command_row<acts_on<search_view>> rows[] = {
      {.id = "search.find",
       .icon = icon::search,
       .run =
           [](auto& at, auto& with) {
             const auto* text = std::get_if<std::string>(&with);
             at.self.find(text != nullptr ? *text : std::string());
             at.commands.invoke("panel.focus.Search");
           },
       .enabled = when_ready},
      {.id = "search.next",
       .title = "Next search result",
       .group = "Edit",
       .keys = {ImGuiKey_F3},
       .run = [](auto& at, auto&) { at.self.step(at.state, at.commands, 1); },
       .enabled = found_any},
      {.id = "search.previous",
       .title = "Previous search result",
       .group = "Edit",
       .keys = {ImGuiMod_Shift | ImGuiKey_F3},
       .run = [](auto& at, auto&) { at.self.step(at.state, at.commands, -1); },
       .enabled = found_any},
      {.id = "search.stop",
       .title = "Stop search",
       .group = "Edit",
       .icon = icon::stop,
       .run = [](auto& at, auto&) { at.self.stop(); },
       .enabled = [](auto& at) { return at.self.searching(); }}};
  home.commands.add(rows, acts_on<search_view>{home, *this});
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
  table_of<std::string> table("Lines of code", found.lines);
  table.text("line", "line", [](const auto& each) { return each; });
  const auto make_filter = [](const std::string& line) { return blocks_filter{.text = line}; };
  table.leads_to([=](const auto& each) { return row_target{.blocks = make_filter(each)}; });
  for (std::size_t i = 0; i < found.lines.size() && i < most; ++i) {
    ImGui::PushID(static_cast<int>(i));
    const ImVec2 begin = ImGui::GetCursorPos();
    bool follow = tables_.item(with, table, i);
    ImGui::SetCursorPos(begin);
    follow = link(with, found.lines[i]) || follow;
    if (follow) with.commands.invoke("blocks.show", make_filter(found.lines[i]));
    ImGui::PopID();
  }
  if (found.lines.size() > most) ImGui::TextDisabled("more: narrow the search");
}

void search_view::draw_table(const view_context& with, const query::search_results& found) {
  constexpr std::size_t longest_column = 5;
  table_of<query::found_name> table("Found events", found.names);
  table.text("Name", "name", [&](const auto& each) { return with.text(each.name); }).wide(3);
  table.text("Kind", "kind", [](const auto& each) { return kind_name(each.kind); }).wide(1);
  table.count("Count", "count", [](const auto& each) { return each.count; }).wide(1);
  table
      .duration("Total time", "total_ns",
                [](const auto& each) { return each.time > 0 ? std::optional(each.time) : std::nullopt; })
      .wide(1);
  table.moment("First at", "first_ns", [](const auto& each) { return each.first.begin; }).wide(1);
  table
      .duration("Longest", "longest_ns",
                [](const auto& each) {
                  const time_ns length = each.longest.end - each.longest.begin;
                  return length > 0 ? table_cell::duration(length).in(tone::link) : table_cell::none("");
                })
      .tip("Click to go to the longest event of this name.")
      .wide(1);
  table.source = found_;
  table.leads_to([&](const auto& each) { return row_target{.shows = make_event_selection(with, each.first.event)}; });
  table.choose([&](const auto& each) { return with.state.selected() == make_event_selection(with, each.first.event); });
  table.click = [&](std::size_t row, std::size_t column) {
    show_event(with, (column == longest_column ? found.names[row].longest : found.names[row].first).event);
  };
  tables_.draw(with, table, {.scrolls = true, .shares_width = true, .adjustable = true, .follows_selection = true});
}

}  // namespace sluice::gui
