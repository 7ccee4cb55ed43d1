#include "app/gui/views/parts/view_tables.hpp"

#include <algorithm>
#include <utility>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// Identifies the table of the list whose row is being drawn. The last id on ImGui's stack is that of the row.
ImGuiID get_key(const table_model& model) {
  const ImVector<ImGuiID>& ids = ImGui::GetCurrentWindow()->IDStack;
  return ImHashStr(model.name.c_str(), 0, ids.Size > 1 ? ids[ids.Size - 2] : ids[0]);
}

/// Returns true once for the table that `wanted` names, and resets `wanted`.
bool take(unsigned& wanted, unsigned table) {
  if (wanted != table) return false;
  wanted = 0;
  return true;
}

/// True if the click selects rows. Such a click has no other effect.
bool selects_rows() { return ImGui::GetIO().KeyCtrl || ImGui::GetIO().KeyShift; }

float text_width(std::string_view text) { return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x; }

float get_row_height() { return ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2; }

ImU32 get_colour(const theme& colours, tone of) {
  switch (of) {
    case tone::muted:
      return colours.muted;
    case tone::link:
    case tone::shrunk:
      return colours.accent;
    case tone::warning:
      return colours.warning;
    case tone::failure:
      return colours.failure;
    case tone::plain:
      break;
  }
  return ImGui::GetColorU32(ImGuiCol_Text);
}

/// The widest of the units that a column of this type usually has.
const char* widest_unit(cell_type type) {
  switch (type) {
    case cell_type::bytes:
      return "MiB";
    case cell_type::duration:
    case cell_type::moment:
      return "ms";
    case cell_type::rate:
      return "MB/s";
    default:
      return nullptr;
  }
}

/// Moves the cursor so that something of this width ends at the right edge of the cell, if it fits.
void align_right(float width) {
  const float free = ImGui::GetContentRegionAvail().x - width;
  if (free > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + free);
}

/// Draws a number right-aligned, so that the units of a column are below one another: "512 B", "1.50 MiB".
void draw_number(cell_type type, const std::string& text) {
  const char* const widest = widest_unit(type);
  const std::size_t space = text.find(' ');
  if (widest == nullptr || space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    align_right(text_width(text));
    return ImGui::TextUnformatted(text.c_str());
  }
  const std::string_view number = std::string_view(text).substr(0, space);
  const std::string_view unit = std::string_view(text).substr(space + 1);
  const float behind = std::max(text_width(widest), text_width(unit));
  align_right(text_width(number) + text_width(" ") + behind);
  ImGui::TextUnformatted(number.data(), number.data() + number.size());
  ImGui::SameLine(0, text_width(" "));
  ImGui::TextUnformatted(unit.data(), unit.data() + unit.size());
  ImGui::SameLine(0, 0);
  ImGui::Dummy({std::max(behind - text_width(unit), 0.0F), 0});
}

/// The width of the arrow in the heading of a sorted column.
float get_arrow_width() { return ImGui::GetFontSize() * 0.65F + ImGui::GetStyle().FramePadding.x; }

/// The column is as wide as its content.
bool fits_content(const table_options& options, const table_model& model, std::size_t column) {
  return !options.shares_width && column != options.stretched_column && model.columns[column].width == 0;
}

/// Makes a column that is as wide as its content wide enough for its heading. ImGui's own way would make the column
/// wider in each frame, because it adds an arrow to the right of the heading, which ends at the column's edge.
void reserve_heading(const table_column& column, bool sorted) {
  const ImVec2 begin = ImGui::GetCursorPos();
  ImGui::Dummy({text_width(column.title) + (sorted ? get_arrow_width() : 0), 0});
  ImGui::SetCursorPos(begin);
}

/// `fits`: the column is as wide as its content.
void draw_cell(const view_context& with, const table_column& column, const table_cell& cell, bool fits) {
  ImGui::PushStyleColor(ImGuiCol_Text, get_colour(with.colours, cell.get_tone()));
  if (const auto& mark = cell.swatch()) swatch(with, mark->colour, mark->outlined);
  const std::string text = cell.shown();
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  if (column.is_number()) {
    draw_number(column.type, text);
  } else if (fits) {
    ImGui::TextUnformatted(line.data(), line.data() + line.size());
  } else {
    clipped_text(line, ImGui::GetContentRegionAvail().x);
  }
  ImGui::PopStyleColor();
  if (!cell.about().empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("%s", cell.about().c_str());
}

/// The width that the texts of a column need, in pixels. Long tables may have longer texts further down.
float measure_stretched(const table_model& model, std::size_t column) {
  constexpr std::size_t most = 200;
  if (column >= model.columns.size()) return 0;
  float wide = text_width(model.columns[column].title) + get_arrow_width();
  for (std::size_t row = 0; row < std::min(model.rows, most); ++row) {
    const table_cell cell = model.cell(row, column);
    const std::string text = cell.shown();
    const float mark = cell.swatch() ? ImGui::GetTextLineHeight() : 0;
    wide = std::max(wide, mark + text_width(std::string_view(text).substr(0, text.find('\n'))));
  }
  return wide + ImGui::GetFontSize();
}

/// The number of columns to draw.
std::size_t count_columns(const view_context& with, const table_model& model, const table_options& options) {
  constexpr float usual = 44;  // design pixels of a column that is as wide as its content
  constexpr float usual_first = 130;
  const float room = ImGui::GetContentRegionAvail().x;
  std::size_t count = 0;
  float used = 0;
  for (; count < model.columns.size() && !model.columns[count].title.empty(); ++count) {
    const float width = model.columns[count].width;
    used += with.px(width > 0 ? width : count == 0 ? usual_first : usual) + ImGui::GetStyle().CellPadding.x * 2;
    if (options.drops_columns && used > room && count > 1) break;
  }
  return count;
}

}  // namespace

// --- tables ----------------------------------------------------------------------------------------------------------

drawn_table view_tables::draw(const view_context& with, table_model& model, const table_options& options) {
  constexpr float widest = 64;  // as a multiple of the text size, so that rows are easy to read
  drawn_table drawn;
  const std::size_t shown = count_columns(with, model, options);
  const unsigned table = ImGui::GetID(model.name.c_str());
  ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_BordersInnerH |
                          ImGuiTableFlags_NoBordersInBody;
  flags |= options.shares_width ? ImGuiTableFlags_SizingStretchProp : ImGuiTableFlags_SizingFixedFit;
  if (!model.sort) flags |= ImGuiTableFlags_SortTristate;
  if (options.adjustable) flags |= ImGuiTableFlags_Resizable;
  if (options.adjustable && options.shares_width) flags |= ImGuiTableFlags_Hideable | ImGuiTableFlags_Reorderable;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float inside = options.scrolls ? room.x - ImGui::GetStyle().ScrollbarSize : room.x;
  const bool sideways = options.scrolls && inside < options.least_width;
  if (options.scrolls) flags |= ImGuiTableFlags_ScrollY;
  if (sideways) flags |= ImGuiTableFlags_ScrollX;
  ImVec2 size(room.x, options.height > 0 ? options.height : room.y + options.height);
  if (!options.scrolls) {
    size = {std::min(room.x, ImGui::GetFontSize() * widest), 0};
    // Names and their numbers should be close together.
    const float beside = states_[table].beside;
    if (beside > 0 && !options.shares_width)
      size.x = std::min(size.x, beside + measure_stretched(model, options.stretched_column));
  }
  // ImGui allows no change of a table's number of columns, so each number has its own id.
  ImGui::PushID(static_cast<int>(shown));
  if (ImGui::BeginTable(model.name.c_str(), static_cast<int>(shown), flags, size, sideways ? options.least_width : 0)) {
    table_state& state = states_[table];
    if (options.scrolls) ImGui::TableSetupScrollFreeze(0, 1);
    set_up_columns(with, model, shown, options);
    draw_headings(with, model, shown, options.scrolls);
    sort(model, shown, state);
    visit(with, model, table);
    const ImGuiTable& drawing_table = *ImGui::GetCurrentTable();
    if (options.stretched_column < shown)
      state.beside = drawing_table.OuterRect.GetWidth() -
                     drawing_table.Columns[static_cast<int>(options.stretched_column)].WidthGiven;
    const drawing what{with, model, options, shown, table};
    follow_selection(what, state);
    drawn = draw_rows(what);
    if (options.scrolls) {
      drawn.under_mouse = ImGui::IsWindowHovered();
      scroll(what, state);
    }
    ImGui::EndTable();
  }
  ImGui::PopID();
  return drawn;
}

void view_tables::set_up_columns(const view_context& with, const table_model& model, std::size_t shown,
                                 const table_options& options) {
  for (std::size_t i = 0; i < shown; ++i) {
    const table_column& each = model.columns[i];
    ImGuiTableColumnFlags own = ImGuiTableColumnFlags_WidthFixed;
    float width = with.px(each.width);
    if (options.shares_width || i == options.stretched_column) {
      own = ImGuiTableColumnFlags_WidthStretch;
      width = options.shares_width ? each.width : 0;
    }
    if (!each.sortable) own |= ImGuiTableColumnFlags_NoSort;
    if (each.hidden) own |= ImGuiTableColumnFlags_DefaultHide;
    if (each.sorted_first) own |= ImGuiTableColumnFlags_DefaultSort;
    if (each.is_number()) own |= ImGuiTableColumnFlags_PreferSortDescending;
    if (each.is_number() && fits_content(options, model, i)) own |= ImGuiTableColumnFlags_NoHeaderWidth;
    ImGui::TableSetupColumn(each.title.c_str(), own, width);
  }
}

/// Works like ImGui::TableHeadersRow(), but right-aligns the titles of number columns, as their numbers are.
void view_tables::draw_headings(const view_context& with, const table_model& model, std::size_t shown, bool scrolls) {
  if (!scrolls) ImGui::PushStyleColor(ImGuiCol_TableHeaderBg, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto number = static_cast<int>(i);
    if (!ImGui::TableSetColumnIndex(number)) continue;
    const table_column& each = model.columns[i];
    const std::string title = make_label(each.title);
    if (each.is_number()) {
      const bool sorted = (ImGui::TableGetColumnFlags(number) & ImGuiTableColumnFlags_IsSorted) != 0;
      align_right(text_width(title) + (sorted ? get_arrow_width() : 0));
    }
    ImGui::PushID(number);
    ImGui::TableHeader(title.c_str());
    ImGui::PopID();
    if (!each.about.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
      ImGui::SetTooltip("%s", each.about.c_str());
  }
  ImGui::PopStyleColor(scrolls ? 1 : 2);
}

void view_tables::sort(table_model& model, std::size_t shown, table_state& state) {
  for (std::size_t i = 0; i < shown && !sort_by_.empty(); ++i) {
    if (model.columns[i].title != sort_by_ || !model.columns[i].sortable) continue;
    ImGui::TableSetColumnSortDirection(
        static_cast<int>(i),
        model.columns[i].is_number() ? ImGuiSortDirection_Descending : ImGuiSortDirection_Ascending, false);
    sort_by_.clear();
  }
  ImGuiTableSortSpecs* const specs = ImGui::TableGetSortSpecs();
  const bool changed = specs != nullptr && specs->SpecsDirty;
  if (changed) {
    state.by = {};
    if (specs->SpecsCount > 0)
      state.by = {static_cast<std::size_t>(specs->Specs[0].ColumnIndex),
                  specs->Specs[0].SortDirection == ImGuiSortDirection_Descending};
    specs->SpecsDirty = false;
    if (model.sort && state.by.column < shown) model.sort(model.columns[state.by.column].key, state.by.descending);
  }
  if (model.sort || state.by.column == table_sort::none) return;
  const bool known = !changed && model.source != nullptr && state.source == model.source &&
                     state.variant == model.variant && state.order.size() == model.rows;
  if (!known) state.order = model.sorted(state.by);
  state.source = model.source;
  state.variant = model.variant;
  model.order = state.order;
}

drawn_table view_tables::draw_rows(const drawing& of) {
  drawn_table drawn;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(std::max(of.model.rows, of.model.total)));
  for (std::size_t row = 0; of.options.keep && row < of.model.rows; ++row)
    if (of.model.source_row(row) == *of.options.keep) clipper.IncludeItemByIndex(static_cast<int>(row));
  bool missing = false;
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const auto row = static_cast<std::size_t>(i);
      if (row >= of.model.rows) {
        missing = true;
        ImGui::TableNextRow(ImGuiTableRowFlags_None, get_row_height());
        continue;
      }
      draw_row(of, row, drawn);
    }
  if (missing && of.model.load) of.model.load();
  return drawn;
}

void view_tables::draw_row(const drawing& of, std::size_t row, drawn_table& drawn) {
  const table_model& model = of.model;
  const std::size_t source = model.source_row(row);
  ImGui::PushID(static_cast<int>(model.key ? model.key(source) : row));
  ImGui::TableNextRow();
  bool first = true;
  bool clicked = false;
  for (std::size_t i = 0; i < of.shown; ++i) {
    if (!ImGui::TableNextColumn()) continue;
    if (std::exchange(first, false)) {
      const ImVec2 begin = ImGui::GetCursorPos();
      clicked = draw_item(of.with, model, row, of.table, {0, 0});
      if (ImGui::IsItemVisible()) drawn.visible.push_back(row);
      if (ImGui::IsItemHovered()) drawn.hovered = source;
      draw_tip(of.with, model, source);
      ImGui::SetCursorPos(begin);
    }
    const table_column& column = model.columns[i];
    if (column.draw && column.draw(source)) continue;
    const bool fits = fits_content(of.options, model, i);
    if (fits) reserve_heading(column, (ImGui::TableGetColumnFlags() & ImGuiTableColumnFlags_IsSorted) != 0);
    draw_cell(of.with, column, column.cell(source), fits);
  }
  ImGui::PopID();
  if (clicked && model.click) {
    const int column = ImGui::TableGetHoveredColumn();
    model.click(source, column >= 0 ? static_cast<std::size_t>(column) : table_sort::none);
  }
  if (clicked && model.double_click && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) model.double_click(source);
}

void view_tables::draw_tip(const view_context& with, const table_model& model, std::size_t source) {
  if ((model.tip.empty() && !model.draw_tip) || !ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) return;
  if (!model.draw_tip) return ImGui::SetTooltip("%s", model.tip.c_str());
  if (!begin_tip(with)) return;
  model.draw_tip(source);
  if (!model.tip.empty()) ImGui::TextDisabled("%s", model.tip.c_str());
  end_tip();
}

/// Scrolls once to the first row that is chosen because something else was selected.
void view_tables::follow_selection(const drawing& of, table_state& state) {
  if (!of.options.follows_selection || !of.model.chosen) return;
  const std::pair now(of.with.followed().version(), of.model.rows);
  if (std::exchange(state.followed, now) == now) return;
  std::size_t row = 0;
  while (row < of.model.rows && !of.model.chosen(of.model.source_row(row))) ++row;
  if (row == of.model.rows) return;
  if (of.options.scrolls) {
    scroll_to_ = row;
    return;
  }
  const ImGuiWindow& panel = *ImGui::GetCurrentWindow();
  const float top = ImGui::GetCursorScreenPos().y + static_cast<float>(row) * get_row_height();
  if (top < panel.InnerRect.Min.y || top + get_row_height() > panel.InnerRect.Max.y)
    ImGui::SetScrollY(ImGui::GetScrollY() + top - (panel.InnerRect.Min.y + panel.InnerRect.Max.y) * 0.5F);
}

void view_tables::scroll(const drawing& of, table_state& state) {
  const std::size_t rows = std::max(of.model.rows, of.model.total);
  if (const auto wanted = std::exchange(scroll_to_, std::nullopt)) {
    const float top = static_cast<float>(*wanted) * get_row_height();
    const float visible = ImGui::GetWindowHeight() - get_row_height() * 2;
    const float now = ImGui::GetScrollY();
    if (top < now || top > now + visible) ImGui::SetScrollY(std::max(0.0F, top - visible * 0.5F));
  }
  const bool more = rows > state.rows_drawn;
  if (of.options.follows_end && more && state.rows_drawn > 0 && state.at_end) ImGui::SetScrollHereY(1);
  if (!more) state.at_end = ImGui::GetScrollY() >= ImGui::GetScrollMaxY();
  state.rows_drawn = rows;
}

// --- rows ------------------------------------------------------------------------------------------------------------

bool view_tables::item(const view_context& with, const table_model& model, std::size_t row, ImVec2 size) {
  const unsigned table = get_key(model);
  visit(with, model, table);
  return draw_item(with, model, row, table, size);
}

void view_tables::follow_item(const view_context& with, const table_model& model, std::size_t row) {
  const unsigned table = get_key(model);
  visit(with, model, table);
  if (selection_.contains(table, row))  // Drawn over the item.
    ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                              ImGui::GetColorU32(ImGuiCol_Header, 0.4F));
  follow(with, model, row, table);
}

bool view_tables::draw_item(const view_context& with, const table_model& model, std::size_t row, unsigned table,
                            ImVec2 size) {
  const bool has_focus = ImGui::GetFocusID() == ImGui::GetID("##row") || ImGui::IsPopupOpen("row menu");
  const bool chosen = model.chosen && model.chosen(model.source_row(row));
  ImGuiSelectableFlags flags = ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap;
  if (model.double_click) flags |= ImGuiSelectableFlags_AllowDoubleClick;
  const bool clicked = ImGui::Selectable("##row", chosen || has_focus || selection_.contains(table, row), flags, size);
  follow(with, model, row, table);
  return clicked && !selects_rows();
}

void view_tables::visit(const view_context& with, const table_model& model, unsigned table) {
  if (std::exchange(states_[table].frame, ImGui::GetFrameCount()) == ImGui::GetFrameCount()) return;
  with.tables.choice.note(table, current_panel()->ID);
  if (take(with.tables.to_select, table)) selection_.select_all(table, model);
  if (selection_.table() == table) {
    selection_.follow(model);
    if (selection_.in(table)) draw_selected(with);
    if (selection_.anchor() < model.rows && take(with.tables.to_copy, table))
      copy_rows(model, selection_.anchor(), selection_.in(table));
  }
  if (take(with.tables.to_save, table)) take_csv(with, model, true, selection_.in(table));
}

void view_tables::follow(const view_context& with, const table_model& model, std::size_t row, unsigned table) {
  if (ImGui::IsItemClicked(ImGuiMouseButton_Left)) {
    if (ImGui::GetIO().KeyShift) {
      selection_.extend_to(table, model, row);
    } else if (ImGui::GetIO().KeyCtrl) {
      selection_.toggle(table, model, row);
    } else {
      selection_.start_at(table, model, row);
    }
  }
  if (ImGui::IsItemClicked(ImGuiMouseButton_Right)) {
    if (!selection_.contains(table, row)) selection_.start_at(table, model, row);
    ImGui::FocusItem();
  }
  const ImGuiContext& imgui = *ImGui::GetCurrentContext();
  if (imgui.NavJustMovedToId == ImGui::GetItemID() && !imgui.NavJustMovedToIsInit) {
    if ((imgui.NavJustMovedToKeyMods & ImGuiMod_Shift) != 0 && !imgui.NavJustMovedToIsTabbing) {
      selection_.extend_to(table, model, row);
    } else {
      selection_.start_at(table, model, row);
    }
  }
  if (ImGui::IsItemFocused()) {
    if (selection_.table() != table) selection_.start_at(table, model, row);
    with.tables.choice.choose(table);
  }
  draw_menu(with, model, row, table);
}

/// Draws the text about the selected rows at the lower right of the panel, above the panel's content.
void view_tables::draw_selected(const view_context& with) const {
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
    ImGui::TextUnformatted(selection_.words().c_str());
  }
  ImGui::End();
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor();
}

// --- menus and copying -----------------------------------------------------------------------------------------------

void view_tables::draw_menu(const view_context& with, const table_model& model, std::size_t row, unsigned table) {
  if (!ImGui::BeginPopupContextItem("row menu")) return;
  const float top = ImGui::GetCursorPosY();
  if (model.menu) model.menu(model.source_row(row));
  if (model.target) menu_.draw_entries(with, model.target(model.source_row(row)));
  if (ImGui::GetCursorPosY() > top) ImGui::Separator();
  draw_copy_entries(with, model, row, selection_.contains(table, row));
  ImGui::Separator();
  panel_entries(with);
  ImGui::EndPopup();
}

void view_tables::draw_copy_entries(const view_context& with, const table_model& model, std::size_t row,
                                    bool selected) const {
  const command* copy = with.commands.find("row.copy");
  const std::string key = copy == nullptr ? std::string() : key_text(*copy);
  const std::string rows = selection_.all() ? "all rows" : format_some(selection_.rows().size(), "row");
  const auto label = [&](const std::string& several, const char* one) { return selected ? several : std::string(one); };
  if (ImGui::MenuItem(label("Copy " + rows + "###Copy the rows", "Copy").c_str(), key.empty() ? nullptr : key.c_str()))
    copy_rows(model, row, selected);
  if (ImGui::MenuItem(label("Copy " + rows + " as CSV###Copy the rows as CSV", "Copy table as CSV").c_str()))
    take_csv(with, model, false, selected);
  if (ImGui::MenuItem(label("Save " + rows + " as CSV...###Save the rows as CSV", "Save table as CSV...").c_str()))
    take_csv(with, model, true, selected);
}

void view_tables::copy_rows(const table_model& model, std::size_t row, bool selected) const {
  if (selected && selection_.all() && model.whole) return model.whole(false);
  ImGui::SetClipboardText((selected ? selection_.text(model) : model.text_of_row(row)).c_str());
}

void view_tables::take_csv(const view_context& with, const table_model& model, bool save, bool selected) const {
  const bool some = selected && !selection_.all();
  if (!some && model.whole) return model.whole(save);
  copy_or_save_csv(with, model, save, some ? &selection_.rows() : nullptr);
}

void copy_or_save_csv(const view_context& with, const table_model& model, bool save, const row_set* only) {
  if (!save) return ImGui::SetClipboardText(model.to_csv(only).c_str());
  with.commands.invoke("table.save", table_text{model.name, model.to_csv(only)});
}

}  // namespace sluice::gui
