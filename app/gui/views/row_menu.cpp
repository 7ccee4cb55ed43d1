#include "app/gui/views/row_menu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/widgets.hpp"
#include "core/base/csv_text.hpp"
#include "core/base/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr std::size_t longest_searched = 200;     // bytes of a name that is passed to Search
constexpr std::size_t max_rows_copied = 100'000;  // the same as for a query

/// Formats a number with the fewest digits that identify the value.
std::string number(double value) { return fmt::format("{}", value); }

/// The panel that contains the current window or the open menu.
const ImGuiWindow* current_panel() {
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  while ((window->Flags & (ImGuiWindowFlags_ChildWindow | ImGuiWindowFlags_Popup)) != 0 &&
         window->ParentWindow != nullptr && !window->DockIsActive)
    window = window->ParentWindow;
  return window;
}

/// Identifies the table, because a panel may have several tables with the same name. The last id on ImGui's stack is
/// excluded, because it is that of the row.
ImGuiID get_key(const table_content& content) {
  const ImVector<ImGuiID>& ids = ImGui::GetCurrentWindow()->IDStack;
  return ImHashStr(content.name, 0, ids.Size > 1 ? ids[ids.Size - 2] : ids[0]);
}

/// Returns true once for the table that `wanted` names, and resets `wanted`.
bool take(unsigned& wanted, unsigned table) {
  if (wanted != table) return false;
  wanted = 0;
  return true;
}

/// True if the click selects rows. Such a click has no other effect.
bool selects_rows() { return ImGui::GetIO().KeyCtrl || ImGui::GetIO().KeyShift; }

/// Draws the title of a menu, which may contain "##" or "%".
void menu_title(const view_context& with, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  clipped_text(text, std::min(ImGui::CalcTextSize(text.data(), text.data() + text.size()).x + 1, with.px(320)));
  ImGui::PopStyleColor();
  ImGui::Separator();
}

}  // namespace

// --- cells -----------------------------------------------------------------------------------------------------------

table_cell table_cell::words(std::string_view shown, std::string_view plain) {
  table_cell cell{unit::words, shown, 0, 0};
  cell.plain_ = plain;
  return cell;
}

std::string table_cell::shown() const {
  switch (unit_) {
    case unit::bytes:
      return format_bytes(whole_);
    case unit::count:
      return format_count(whole_);
    case unit::duration:
      return format_time(static_cast<time_ns>(whole_));
    case unit::moment:
      return format_moment(static_cast<time_ns>(whole_));
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
      return std::to_string(static_cast<time_ns>(whole_));
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

std::string to_csv(const table_content& content) {
  std::string text;
  for (const table_column& each : content.columns) {
    if (&each != content.columns.data()) text += ',';
    append_csv(text, each.csv);
  }
  text += '\n';
  std::vector<table_cell> cells;
  for (std::size_t row = 0; row < content.rows; ++row) {
    cells.clear();
    content.cells(row, cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += ',';
      append_csv(text, cells[i].plain());
    }
    text += '\n';
  }
  return text;
}

std::string text_of_row(const table_content& content, std::size_t row) {
  std::vector<table_cell> cells;
  content.cells(row, cells);
  std::string text;
  bool first = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (content.columns[i].title == nullptr) continue;
    if (!first) text += '\t';
    first = false;
    std::string shown = cells[i].shown();
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    text += shown;
  }
  return text;
}

table_content get_part(const table_content& content, const row_set& chosen) {
  std::vector<std::size_t> rows;
  rows.reserve(chosen.size());
  for (const row_set::run& each : chosen.runs())
    for (std::size_t row = each.begin; row < std::min(each.end, content.rows); ++row) rows.push_back(row);
  table_content output{content.name, content.columns, rows.size()};
  output.cells = [&content, rows = std::move(rows)](std::size_t row, std::vector<table_cell>& to) {
    content.cells(rows[row], to);
  };
  return output;
}

std::string get_words(const table_content& content, const row_set& chosen) {
  std::string text = format_some(chosen.size(), "row") + " selected";
  if (chosen.empty()) return text;
  std::vector<table_cell> cells;
  content.cells(chosen.runs().front().begin, cells);
  const auto has_size = [](const table_cell& each) { return each.size().has_value(); };
  const auto found = std::find_if(cells.begin(), cells.end(), has_size);
  if (found == cells.end()) return text;
  const auto column = static_cast<std::size_t>(found - cells.begin());
  const bool only = std::count_if(cells.begin(), cells.end(), has_size) == 1;
  std::uint64_t sum = 0;
  for (const row_set::run& each : chosen.runs())
    for (std::size_t row = each.begin; row < each.end; ++row) {
      cells.clear();
      content.cells(row, cells);
      sum += cells[column].size().value_or(0);
    }
  const table_column& subject = content.columns[column];
  return text + ", " + (only || subject.title == nullptr ? std::string() : std::string(subject.title) + " ") +
         format_bytes(sum);
}

void copy_csv(const table_content& content) { ImGui::SetClipboardText(to_csv(content).c_str()); }

void save_csv(const view_context& with, const table_content& content) {
  with.commands.invoke("table.save", table_text{content.name, to_csv(content)});
}

// --- entries of menus ------------------------------------------------------------------------------------------------

selection make_event_selection(const view_context& with, trace::event_id event) {
  if (event == trace::event_id::none) return {};
  return {with.state.active()->id, selection_kind::event, trace::raw(event)};
}

selection select_block(const view_context& with, trace::block_id block) {
  if (block == trace::block_id::none) return {};
  return {with.state.active()->id, selection_kind::block, trace::raw(block)};
}

void command_entry(const view_context& with, std::string_view id) {
  const command* subject = with.commands.find(id);
  if (subject == nullptr) return;
  const std::string keys = key_text(*subject);
  if (ImGui::MenuItem(subject->title.c_str(), keys.empty() ? nullptr : keys.c_str(),
                      subject->checked && subject->checked(), with.commands.enabled(*subject)))
    with.commands.invoke(id);
}

namespace {

/// Adds entries to copy a line of code and to open it in an editor. If `line` is null, the line is unknown or not yet
/// known.
void line_entries(const view_context& with, const symbols::frame_line* line) {
  const bool has_file = line != nullptr && !line->file.empty();
  std::string place;
  if (line != nullptr) place = has_file ? line->file + ":" + std::to_string(line->line) : line->module;
  if (ImGui::MenuItem("Copy file:line", nullptr, false, !place.empty())) ImGui::SetClipboardText(place.c_str());
  if (ImGui::MenuItem("Copy function name", nullptr, false, line != nullptr))
    ImGui::SetClipboardText(symbols::get_name(*line).c_str());
  if (ImGui::MenuItem("Copy source line", nullptr, false, line != nullptr && !line->source.empty()))
    ImGui::SetClipboardText(line->source.c_str());
  if (ImGui::MenuItem("Open in editor", nullptr, false, has_file)) with.commands.invoke("source.open", place);
}

}  // namespace

void target_entries(const view_context& with, const row_target& target) {
  const bool leads = target.shows.kind == selection_kind::event || target.shows.kind == selection_kind::block;
  const symbols::frame_line* const line = target.line ? &*target.line : nullptr;
  if (leads && ImGui::MenuItem("Show on timeline")) {
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
      ImGui::MenuItem("List blocks of this line", nullptr, false, line != nullptr)) {
    blocks_filter filter;
    filter.text = symbols::format_place_and_name(*line);
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
  if (ImGui::MenuItem("Copy panel as text")) with.commands.invoke("panel.copy_text", panel);
  if (ImGui::MenuItem("Save panel as picture...")) with.commands.invoke("panel.save_picture", panel);
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
      metric_cell(cells[i].shown(), cells[i].muted());
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
      ImGui::Selectable("##row", chosen || has_focus || selects(content, row),
                        flags | ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap, size);
  follow(with, content, row);
  return clicked && !selects_rows();
}

void row_menu::follow_item(const view_context& with, const table_content& content, std::size_t row) {
  if (selects(content, row))  // Drawn over the item.
    ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                              ImGui::GetColorU32(ImGuiCol_Header, 0.4F));
  follow(with, content, row);
}

void row_menu::follow(const view_context& with, const table_content& content, std::size_t row) {
  const ImGuiID id = ImGui::GetItemID();
  if (ImGui::IsItemClicked(ImGuiMouseButton_Left)) {
    if (ImGui::GetIO().KeyShift) {
      extend_to(content, row);
    } else if (ImGui::GetIO().KeyCtrl) {
      add_or_remove(content, row);
    } else {
      start_at(content, row);
    }
  }
  const bool wants_menu = ImGui::IsItemClicked(ImGuiMouseButton_Right);
  if (wants_menu && !selects(content, row)) start_at(content, row);
  const bool scrolled_to = focus_ && *focus_ == row;
  if (scrolled_to) {
    focus_.reset();
    if (focus_extends_) {
      extend_to(content, row);
    } else {
      start_at(content, row);
    }
  }
  if (wants_menu || scrolled_to) ImGui::FocusItem();
  const ImGuiContext& imgui = *ImGui::GetCurrentContext();
  if (imgui.NavJustMovedToId == id && !imgui.NavJustMovedToIsInit) {
    if ((imgui.NavJustMovedToKeyMods & ImGuiMod_Shift) != 0 && !imgui.NavJustMovedToIsTabbing) {
      extend_to(content, row);
    } else {
      start_at(content, row);
    }
  }
  const bool has_focus = ImGui::IsItemFocused();
  const ImGuiID table = get_key(content);
  with.tables.choice.note(table, current_panel()->ID);
  if (has_focus) {
    focused_ = row;
    if (selected_.table != table) start_at(content, row);
    with.tables.choice.choose(table);
  }
  if (take(with.tables.to_select, table)) select_all(content);
  // Do this once per frame, when the first row is drawn, because the focused row may be out of view.
  const bool first = selected_.table == table && selected_.frame != ImGui::GetFrameCount();
  if (first) {
    selected_.frame = ImGui::GetFrameCount();
    check_selected(content);
    if (selects(content)) draw_selected(with);
  }
  const bool is_meant = selects(content) || (selected_.table == table && selected_.anchor == row);
  if (is_meant && take(with.tables.to_copy, table)) copy_rows(content, row, selects(content));
  if (take(with.tables.to_save, table)) take_csv(with, content, true, selects(content));
  draw_menu(with, content, row);
}

void row_menu::start_at(const table_content& content, std::size_t row) {
  selected_.table = get_key(content);
  selected_.anchor = row;
  selected_.rows.clear();
  note_selected(content);
}

void row_menu::extend_to(const table_content& content, std::size_t row) {
  if (selected_.table != get_key(content) || selected_.anchor >= content.rows) start_at(content, row);
  selected_.rows.choose(selected_.anchor, row);
  note_selected(content);
}

void row_menu::add_or_remove(const table_content& content, std::size_t row) {
  const bool here = selected_.table == get_key(content) && selected_.anchor < content.rows;
  if (!here) {
    start_at(content, row);
  } else if (selected_.rows.empty() && row != selected_.anchor) {
    selected_.rows.choose(selected_.anchor, selected_.anchor);
  }
  selected_.rows.toggle(row);
  selected_.anchor = row;
  note_selected(content);
}

void row_menu::select_all(const table_content& content) {
  if (content.rows == 0) return;
  selected_.table = get_key(content);
  selected_.rows.choose(0, content.rows - 1);
  note_selected(content);
}

bool row_menu::selects(const table_content& content, std::optional<std::size_t> row) const {
  // A single selected row is equivalent to the focused row.
  if (selected_.table == 0 || selected_.rows.empty() || selected_.words.empty()) return false;
  return selected_.table == get_key(content) && (!row || selected_.rows.contains(*row));
}

void row_menu::note_selected(const table_content& content) {
  const std::size_t count = selected_.rows.size();
  selected_.words.clear();
  if (count < 2) return;
  selected_.known = content.rows;
  selected_.all = count == content.rows;
  selected_.first = text_of_row(content, selected_.rows.runs().front().begin);
  selected_.last = text_of_row(content, selected_.rows.runs().back().end - 1);
  // The panel may have only the first rows of the table.
  selected_.words = selected_.all && content.whole ? "All rows selected" : get_words(content, selected_.rows);
}

void row_menu::check_selected(const table_content& content) {
  if (!selects(content)) return;
  const std::size_t last = selected_.rows.runs().back().end - 1;
  const bool same = last < content.rows &&
                    selected_.first == text_of_row(content, selected_.rows.runs().front().begin) &&
                    selected_.last == text_of_row(content, last);
  if (!same) {
    start_at(content, selected_.anchor);
  } else if (selected_.all && content.rows > selected_.known) {
    select_all(content);
  }
}

/// Draws the text about the selected rows at the lower right of the panel, above the panel's content.
void row_menu::draw_selected(const view_context& with) const {
  const ImGuiWindow* const panel = current_panel();
  const ImVec2 corner = panel->InnerRect.Max;
  ImGui::SetNextWindowPos({corner.x - with.px(4), corner.y - with.px(2)}, ImGuiCond_Always, {1, 1});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(8), with.px(2)));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  constexpr auto flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoSavedSettings |
                         ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoFocusOnAppearing |
                         ImGuiWindowFlags_AlwaysAutoResize;
  if (ImGui::Begin((std::string("##selected rows of ") + panel->Name).c_str(), nullptr, flags)) {
    ImGuiWindow* const shown = ImGui::GetCurrentWindow();
    // A floating panel comes to the front when the user clicks it.
    if (ImGui::FindWindowDisplayIndex(shown) < ImGui::FindWindowDisplayIndex(panel->RootWindowDockTree))
      ImGui::BringWindowToDisplayFront(shown);
    ImGui::TextUnformatted(selected_.words.c_str());
  }
  ImGui::End();
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor();
}

void row_menu::copy_rows(const table_content& content, std::size_t row, bool selected) const {
  if (!selected) return ImGui::SetClipboardText(text_of_row(content, row).c_str());
  if (selected_.all && content.whole) return content.whole(false);
  std::string text;
  std::size_t copied = 0;
  for (const row_set::run& each : selected_.rows.runs())
    for (std::size_t at = each.begin; at < each.end && copied < max_rows_copied; ++at, ++copied) {
      if (copied > 0) text += '\n';
      text += text_of_row(content, at);
    }
  ImGui::SetClipboardText(text.c_str());
}

void row_menu::take_csv(const view_context& with, const table_content& content, bool save, bool selected) const {
  const bool some = selected && !selected_.all;
  if (!some && content.whole) return content.whole(save);
  const table_content part = some ? get_part(content, selected_.rows) : content;
  if (save) {
    save_csv(with, part);
  } else {
    copy_csv(part);
  }
}

void row_menu::find_line(const view_context& with, row_target& target) {
  const selection_kind kind = target.shows.kind;
  const bool known = kind == selection_kind::event || kind == selection_kind::block;
  if (target.line || !known || target.shows.document != with.state.active()->id) return;
  query::details_query wanted;
  if (kind == selection_kind::event) wanted.event = static_cast<trace::event_id>(target.shows.id);
  if (kind == selection_kind::block) wanted.block = static_cast<trace::block_id>(target.shows.id);
  const auto result = details_.ask(*with.state.active()->engine, wanted);
  // An incomplete result may still belong to the previous query.
  if (!result || !result.complete || result->stack.empty()) return;
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& each : result->stack) lines.push_back(&each);
  target.line = result->stack[symbols::line_to_name(lines)];
}

void row_menu::draw_menu(const view_context& with, const table_content& content, std::size_t row) {
  const bool selected = selects(content, row);
  if (!ImGui::BeginPopupContextItem("row menu")) return;
  const float top = ImGui::GetCursorPosY();
  if (content.more) content.more(row);
  if (content.target) {
    row_target target = content.target(row);
    find_line(with, target);
    target_entries(with, target);
  }
  if (ImGui::GetCursorPosY() > top) ImGui::Separator();
  draw_copy_entries(with, content, row, selected);
  ImGui::Separator();
  panel_entries(with);
  ImGui::EndPopup();
}

void row_menu::draw_copy_entries(const view_context& with, const table_content& content, std::size_t row,
                                 bool selected) const {
  const command* copy = with.commands.find("row.copy");
  const std::string key = copy == nullptr ? std::string() : key_text(*copy);
  const std::string rows = selected_.all ? "all rows" : format_some(selected_.rows.size(), "row");
  const auto label = [&](const std::string& several, const char* one) { return selected ? several : std::string(one); };
  if (ImGui::MenuItem(label("Copy " + rows + "###Copy the rows", "Copy").c_str(), key.empty() ? nullptr : key.c_str()))
    copy_rows(content, row, selected);
  if (ImGui::MenuItem(label("Copy " + rows + " as CSV###Copy the rows as CSV", "Copy table as CSV").c_str()))
    take_csv(with, content, false, selected);
  if (ImGui::MenuItem(label("Save " + rows + " as CSV...###Save the rows as CSV", "Save table as CSV...").c_str()))
    take_csv(with, content, true, selected);
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
  focus_extends_ = ImGui::GetIO().KeyShift;
}

// --- menus for things drawn without items ----------------------------------------------------------------------------

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
    if (!about_.name.empty() && ImGui::MenuItem("Copy name")) ImGui::SetClipboardText(about_.name.c_str());
    if (!about_.text.empty() && ImGui::MenuItem("Copy as text")) ImGui::SetClipboardText(about_.text.c_str());
    panel_entries(with);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace sluice::gui
