#include "app/gui/views/row_menu.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/widgets.hpp"
#include "core/base/csv_text.hpp"
#include "core/base/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr std::size_t longest_searched = 200;  // bytes of a name that is handed to Search

std::string number(double value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

/// The panel in which the current window, or the menu that is open, lies.
const ImGuiWindow* current_panel() {
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  while ((window->Flags & (ImGuiWindowFlags_ChildWindow | ImGuiWindowFlags_Popup)) != 0 &&
         window->ParentWindow != nullptr && !window->DockIsActive)
    window = window->ParentWindow;
  return window;
}

/// A name that may hold "##" or "%".
void menu_title(const view_context& with, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  clipped_text(text, std::min(ImGui::CalcTextSize(text.data(), text.data() + text.size()).x + 1, with.px(320)));
  ImGui::PopStyleColor();
  ImGui::Separator();
}

}  // namespace

// --- cells -----------------------------------------------------------------------------------------------------------

table_cell table_cell::words(std::string_view shown, std::string_view plain) {
  table_cell made{unit::words, shown, 0, 0};
  made.plain_ = plain;
  return made;
}

std::string table_cell::shown() const {
  switch (unit_) {
    case unit::bytes:
      return format_bytes(whole_);
    case unit::count:
      return format_count(whole_);
    case unit::duration:
      return format_time(static_cast<query::time_ns>(whole_));
    case unit::moment:
      return format_moment(static_cast<query::time_ns>(whole_));
    case unit::rate:
      return format_rate(real_);
    case unit::share:
      return format_share(real_);
    case unit::address:
      return format_address(whole_);
    case unit::text:
    case unit::none:
    case unit::words:
      break;
  }
  return text_;
}

std::string table_cell::plain() const {
  switch (unit_) {
    case unit::bytes:
    case unit::count:
      return std::to_string(whole_);
    case unit::duration:
    case unit::moment:
      return std::to_string(static_cast<query::time_ns>(whole_));
    case unit::rate:
    case unit::share:
      return number(real_);
    case unit::address:
      return format_address(whole_);
    case unit::none:
      return {};
    case unit::words:
      return plain_;
    case unit::text:
      break;
  }
  return text_;
}

// --- copying ---------------------------------------------------------------------------------------------------------

std::string csv_of(const table_content& content) {
  std::string made;
  for (const table_column& each : content.columns) {
    if (&each != content.columns.data()) made += ',';
    append_csv(made, each.csv);
  }
  made += '\n';
  std::vector<table_cell> cells;
  for (std::size_t row = 0; row < content.rows; ++row) {
    cells.clear();
    content.cells(row, cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) made += ',';
      append_csv(made, cells[i].plain());
    }
    made += '\n';
  }
  return made;
}

std::string text_of_row(const table_content& content, std::size_t row) {
  std::vector<table_cell> cells;
  content.cells(row, cells);
  std::string made;
  bool first = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (content.columns[i].title == nullptr) continue;
    if (!first) made += '\t';
    first = false;
    std::string shown = cells[i].shown();
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    made += shown;
  }
  return made;
}

void copy_csv(const table_content& content) { ImGui::SetClipboardText(csv_of(content).c_str()); }

void save_csv(const view_context& with, const table_content& content) {
  with.commands.invoke("table.save", table_text{content.name, csv_of(content)});
}

// --- entries of menus ------------------------------------------------------------------------------------------------

selection event_of(const view_context& with, trace::event_id event) {
  if (event == trace::event_id::none) return {};
  return {with.state.active()->id, selection_kind::event, trace::raw(event)};
}

selection block_of(const view_context& with, trace::block_id block) {
  if (block == trace::block_id::none) return {};
  return {with.state.active()->id, selection_kind::block, trace::raw(block)};
}

void command_entry(const view_context& with, std::string_view id) {
  const command* what = with.commands.find(id);
  if (what == nullptr) return;
  const std::string keys = key_text(*what);
  if (ImGui::MenuItem(what->title.c_str(), keys.empty() ? nullptr : keys.c_str(), what->checked && what->checked(),
                      with.commands.enabled(*what)))
    with.commands.invoke(id);
}

namespace {

/// Copying a line of code and opening it in an editor. Null: it is not known, or not yet.
void line_entries(const view_context& with, const symbols::frame_line* line) {
  const bool has_file = line != nullptr && !line->file.empty();
  std::string place;
  if (line != nullptr) place = has_file ? line->file + ":" + std::to_string(line->line) : line->module;
  if (ImGui::MenuItem("Copy file:line", nullptr, false, !place.empty())) ImGui::SetClipboardText(place.c_str());
  if (ImGui::MenuItem("Copy the function's name", nullptr, false, line != nullptr))
    ImGui::SetClipboardText(symbols::name_of(*line).c_str());
  if (ImGui::MenuItem("Copy the source line", nullptr, false, line != nullptr && !line->source.empty()))
    ImGui::SetClipboardText(line->source.c_str());
  if (ImGui::MenuItem("Open in the editor", nullptr, false, has_file)) with.commands.invoke("source.open", place);
}

}  // namespace

void target_entries(const view_context& with, const row_target& target) {
  const bool leads = target.shows.kind == selection_kind::event || target.shows.kind == selection_kind::block;
  const symbols::frame_line* const line = target.line ? &*target.line : nullptr;
  if (leads && ImGui::MenuItem("Show on the timeline")) {
    with.commands.invoke("selection.set", target.shows);
    with.commands.invoke("selection.reveal");
  }
  if (leads && ImGui::MenuItem("Show in Details")) {
    with.commands.invoke("selection.set", target.shows);
    with.commands.invoke("panel.focus.Details");
  }
  if (target.range && ImGui::MenuItem("Zoom to its time")) show_range(with, *target.range);
  if (target.range && target.range->length() > 0 && ImGui::MenuItem("Select its time"))
    with.commands.invoke("selection.range", *target.range);
  if (target.blocks && ImGui::MenuItem("List its blocks")) with.commands.invoke("blocks.show", *target.blocks);
  if ((leads || line != nullptr) && !target.blocks && target.lists_blocks &&
      ImGui::MenuItem("List the blocks of this line", nullptr, false, line != nullptr)) {
    blocks_filter filter;
    filter.text = symbols::place_and_name_of(*line);
    with.commands.invoke("blocks.show", filter);
  }
  if (!target.find.empty() && ImGui::MenuItem("Find this name in Search"))
    with.commands.invoke("search.find", target.find.substr(0, longest_searched));
  if (!leads && line == nullptr) return;
  ImGui::Separator();
  line_entries(with, line);
}

void panel_entries(const view_context& with) {
  const std::string panel = current_panel()->Name;
  if (ImGui::MenuItem("Copy the panel as text")) with.commands.invoke("panel.copy_text", panel);
  if (ImGui::MenuItem("Save a picture of the panel...")) with.commands.invoke("panel.save_picture", panel);
}

void panel_context_menu(const view_context& with) {
  if (!ImGui::BeginPopupContextItem("panel menu")) return;
  panel_entries(with);
  ImGui::EndPopup();
}

// --- rows ------------------------------------------------------------------------------------------------------------

const std::vector<table_cell>& row_menu::cells(const table_content& content, std::size_t row) {
  cells_.clear();
  content.cells(row, cells_);
  return cells_;
}

void row_menu::draw_cells(std::span<const table_cell> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i == 0) {
      first_cell(cells[i].shown());
    } else {
      figure_cell(cells[i].shown(), cells[i].muted());
    }
  }
}

bool row_menu::begin_row(const view_context& with, const table_content& content, std::size_t row, bool chosen) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const bool clicked = item(with, content, row, chosen);
  ImGui::SameLine(0, 0);
  return clicked;
}

bool row_menu::draw_row(const view_context& with, const table_content& content, std::size_t row, bool chosen) {
  ImGui::PushID(static_cast<int>(row));
  const bool clicked = begin_row(with, content, row, chosen);
  draw_cells(cells(content, row));
  ImGui::PopID();
  return clicked;
}

bool row_menu::item(const view_context& with, const table_content& content, std::size_t row, bool chosen, int flags,
                    ImVec2 size) {
  const bool has_focus = ImGui::GetFocusID() == ImGui::GetID("##row") || ImGui::IsPopupOpen("row menu");
  const bool clicked =
      ImGui::Selectable("##row", chosen || has_focus,
                        flags | ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap, size);
  follow_item(with, content, row);
  return clicked;
}

void row_menu::follow_item(const view_context& with, const table_content& content, std::size_t row) {
  if (ImGui::IsItemClicked(ImGuiMouseButton_Right) || (focus_ && *focus_ == row)) {
    ImGui::FocusItem();
    focus_.reset();
  }
  if (ImGui::IsItemFocused()) {
    focused_ = row;
    if (with.commands.just_ran("row.copy")) ImGui::SetClipboardText(text_of_row(content, row).c_str());
    if (with.commands.just_ran("table.save_focused")) content.whole ? content.whole(true) : save_csv(with, content);
  }
  draw_menu(with, content, row);
}

void row_menu::find_line(const view_context& with, row_target& target) {
  const selection_kind kind = target.shows.kind;
  const bool known = kind == selection_kind::event || kind == selection_kind::block;
  if (target.line || !known || target.shows.document != with.state.active()->id) return;
  query::details_question wanted;
  if (kind == selection_kind::event) wanted.event = static_cast<trace::event_id>(target.shows.id);
  if (kind == selection_kind::block) wanted.block = static_cast<trace::block_id>(target.shows.id);
  const auto answer = details_.ask(*with.state.active()->engine, wanted);
  // An incomplete answer may still be about what was asked before.
  if (!answer || !answer.complete || answer->stack.empty()) return;
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& each : answer->stack) lines.push_back(&each);
  target.line = answer->stack[symbols::line_to_name(lines)];
}

void row_menu::draw_menu(const view_context& with, const table_content& content, std::size_t row) {
  if (!ImGui::BeginPopupContextItem("row menu")) return;
  const float top = ImGui::GetCursorPosY();
  if (content.more) content.more(row);
  if (content.target) {
    row_target target = content.target(row);
    find_line(with, target);
    target_entries(with, target);
  }
  if (ImGui::GetCursorPosY() > top) ImGui::Separator();
  const command* copy = with.commands.find("row.copy");
  const std::string key = copy == nullptr ? std::string() : key_text(*copy);
  if (ImGui::MenuItem("Copy the row", key.empty() ? nullptr : key.c_str()))
    ImGui::SetClipboardText(text_of_row(content, row).c_str());
  if (ImGui::MenuItem("Copy the table as CSV")) content.whole ? content.whole(false) : copy_csv(content);
  if (ImGui::MenuItem("Save the table as CSV...")) content.whole ? content.whole(true) : save_csv(with, content);
  ImGui::Separator();
  panel_entries(with);
  ImGui::EndPopup();
}

void row_menu::scroll_by_keys(std::int64_t& first, std::int64_t fits, std::int64_t rows) {
  const auto at = std::exchange(focused_, std::nullopt);
  if (!at) return;
  const auto row = static_cast<std::int64_t>(*at);
  std::int64_t by = 0;
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow) && row == first + fits - 1) by = 1;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow) && row == first) by = -1;
  if (ImGui::IsKeyPressed(ImGuiKey_PageDown) && row == first + fits - 1) by = fits;
  if (ImGui::IsKeyPressed(ImGuiKey_PageUp) && row == first) by = -fits;
  if (by == 0) return;
  const std::int64_t next = std::clamp<std::int64_t>(row + by, 0, rows - 1);
  if (next == row) return;
  first = std::clamp<std::int64_t>(first + by, 0, std::max<std::int64_t>(0, rows - fits));
  focus_ = static_cast<std::size_t>(next);
}

// --- menus of what is drawn without items ------------------------------------------------------------------------------

void row_menu::open(row_target target, std::string name, std::string text,
                    std::function<void(const view_context&)> more) {
  about_ = {std::move(target), std::move(name), std::move(text), std::move(more)};
  ImGui::OpenPopup("item menu");
}

void row_menu::draw_opened(const view_context& with) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(8), with.px(8)));
  opened_ = ImGui::BeginPopup("item menu");
  if (opened_) {
    if (!about_.name.empty()) menu_title(with, about_.name);
    if (about_.more) about_.more(with);
    row_target target = about_.target;
    find_line(with, target);
    target_entries(with, target);
    ImGui::Separator();
    if (!about_.name.empty() && ImGui::MenuItem("Copy the name")) ImGui::SetClipboardText(about_.name.c_str());
    if (!about_.text.empty() && ImGui::MenuItem("Copy as text")) ImGui::SetClipboardText(about_.text.c_str());
    panel_entries(with);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace sluice::gui
