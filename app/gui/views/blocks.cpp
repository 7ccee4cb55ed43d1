#include "app/gui/views/blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/process_choice.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/trace/model/names.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

using query::block_column;

constexpr float min_for_filters = 170;  // design pixels of panel height
constexpr float min_for_footer = 90;
constexpr float min_width = 1060;  // narrower tables scroll sideways

/// The sort key of columns by which the table cannot be sorted, because their values are known only for visible rows.
constexpr auto unsorted = static_cast<block_column>(0xff);

struct column {
  block_cell cell;
  const char* title;
  const char* csv;  ///< The column's heading in CSV.
  block_column sort;
  float width;  ///< Share of the table's width.
  bool metrics = false;
  bool hidden = false;  ///< Hidden until the user chooses the column in the context menu of the headings.
  const char* tip = nullptr;
};
constexpr std::array<column, 16> columns = {{
    {block_cell::size, "Size", "bytes", block_column::bytes, 84, true},
    {block_cell::line, "Allocated by", "asked_by", unsorted, 250},
    {block_cell::category, "Category", "category", block_column::category, 124},
    {block_cell::born, "Allocated", "allocated_ns", block_column::born, 92, true, false,
     "When the allocation call returned, in host time."},
    {block_cell::died, "Freed", "freed_ns", block_column::died, 92, true, false,
     "When the program freed the block, in host time. GPU work that uses it may still be pending."},
    {block_cell::lifetime, "Lifetime", "lifetime_ns", block_column::lifetime, 84, true},
    {block_cell::last_use, "Last use", "last_use_ns", block_column::last_use, 92, true, false,
     "When the program launched the last kernel or copy that uses the block. The GPU may have run it later."},
    {block_cell::idle, "Idle since last use", "held_unused_ns", block_column::idle, 124, true, false,
     "Time from the last use (or the allocation, if never used) until the block was freed."},
    {block_cell::step, "Step", "step", unsorted, 48, true, false, "The step in which the block was allocated."},
    {block_cell::address, "Address", "address", block_column::address, 128},
    {block_cell::name, "Name", "name", block_column::name, 110},
    {block_cell::layer, "Layer", "layer", block_column::layer, 96, false, true},
    {block_cell::kind, "Kind", "kind", block_column::kind, 74, false, true},
    {block_cell::first_use, "First use", "first_use_ns", block_column::first_use, 92, true, true,
     "When the first kernel or copy that uses the block was enqueued."},
    {block_cell::uses, "Uses", "uses", unsorted, 60, true, true, "Number of kernels and copies that use the block."},
    // This column must be the last, because recordings of one process are shown without it.
    {block_cell::process, "Rank", "rank", unsorted, 70, false, false,
     "The rank of the process that allocated the block, or the process itself if it has no rank."},
}};

constexpr std::array<table_column, columns.size()> block_columns = [] {
  std::array<table_column, columns.size()> output{};
  for (std::size_t i = 0; i < columns.size(); ++i) output[i] = {columns[i].title, columns[i].csv};
  return output;
}();

constexpr std::array<std::uint64_t, 5> sizes = {0, 1 << 20, 16 << 20, 256 << 20, std::uint64_t{1} << 30};

std::span<const column> shown_columns(const view_context& with) {
  return {columns.data(), columns.size() - (has_several_processes(with) ? 0 : 1)};
}

std::string size_words(std::uint64_t bytes) {
  return bytes == 0 ? std::string("any size") : "at least " + format_bytes(static_cast<double>(bytes));
}

}  // namespace

void blocks_view::add_commands(const command_home& home) {
  const auto ready = [&state = home.state] { return state.ready(); };
  const auto take = [this](const argument& with) {
    const auto* wanted = std::get_if<blocks_filter>(&with);
    if (wanted == nullptr) return false;
    filter_ = *wanted;
    layer_chosen_ = true;
    start_over();
    return true;
  };
  // This command sets the filter without bringing the panel to the front.
  home.commands.add({.id = "blocks.filter", .run = [take](const argument& with) { take(with); }, .enabled = ready});
  home.commands.add({.id = "blocks.show",
                     .run =
                         [take, &commands = home.commands](const argument& with) {
                           if (take(with)) commands.invoke("panel.focus.Blocks");
                         },
                     .enabled = ready});
  home.commands.add({.id = "blocks.sort",
                     .run =
                         [this](const argument& with) {
                           if (const auto* title = std::get_if<std::string>(&with)) sort_wanted_ = *title;
                         },
                     .enabled = ready});
}

void blocks_view::reset() {
  query_ = {};
  ahead_ = {};
  report_ = {};
  filter_ = {};
  layer_chosen_ = false;
  wanted_ = {};
  whole_wanted_.reset();
  start_over();
}

void blocks_view::start_over() {
  first_ = 0;
  wanted_rows_ = query::block_table::first_rows;
}

void blocks_view::keep(document_id id, kept_view& into) const {
  if (id == document_ && layer_chosen_) into.blocks = filter_;
}

void blocks_view::restore(const view_context& with, const kept_view& view) {
  if (!view.blocks) return;
  document_ = with.state.active()->id;
  filter_ = *view.blocks;
  layer_chosen_ = true;
  start_over();
}

void blocks_view::follow(const view_context& with) {
  if (with.state.active() != nullptr) document_ = with.state.active()->id;
  const reveal_request& last = with.state.revealed();
  if (last.number == revealed_) return;
  revealed_ = last.number;
  if (last.target.kind != selection_kind::block || !visible) return;
  wanted_ = {static_cast<trace::block_id>(last.target.id), last.span.begin, 0};
  bring_forward();
}

void blocks_view::draw(view_context& with) {
  on_screen_.clear();
  const document& shown = *with.state.active();
  const auto report = report_.ask(*shown.engine, {});
  if (!layer_chosen_ && report && report.complete) {
    // Show the innermost layer, whose blocks contain no other blocks, so that no memory is listed twice.
    if (const metrics::memory_peak* peak = main_peak(*report.value)) filter_.layer = peak->layer;
    layer_chosen_ = true;
  }
  draw_filters(with, report);
  query::blocks_query wanted;
  wanted.range = filter_.range.value_or(with.state.range().value_or(shown.span));
  wanted.layer = filter_.layer;
  wanted.only_unfreed = filter_.only_unfreed;
  wanted.sort = sort_;
  wanted.descending = descending_;
  wanted.filter = filter_.text;
  wanted.rows = wanted_rows_;
  wanted.by = by_ ? by_ : choose_grouping(with, report).by;
  wanted.category = filter_.category;
  wanted.min_bytes = filter_.min_bytes;
  wanted.only_unused = filter_.only_unused;
  wanted.device = filter_.device;
  wanted.kind = filter_.kind;
  wanted.process = filter_.process;
  wanted.groups = filter_.groups;
  wanted.with_uses = true;
  const auto result = query_.ask(*shown.engine, wanted);
  progress_line(with, result.complete, result.progress);
  if (!result) return;
  if (result.complete && !shown.live) {
    // If all rows are known, sorting by any column and filtering are fast.
    query::blocks_query blocks_query;
    blocks_query.range = shown.span;
    blocks_query.sort = block_column::born;
    blocks_query.rows = 0;
    ahead_.ask(*shown.engine, blocks_query);
  }
  const query::block_table& table = *result.value;
  count_ = table.count;
  if (wanted_.block != trace::block_id::none && result.complete) look_for_wanted(table);
  if (table.rows.empty() && result.complete) {
    const bool no_filter = filter_ == blocks_filter{};
    if (no_filter && !with.state.range()) return no_memory_recorded(with);
    return empty_state(with, icon::search, "No blocks match",
                       filter_.only_unused && !table.uses_known
                           ? "This recording has no data on which blocks were used."
                       : no_filter ? "Nothing was allocated in this range."
                                   : "No block in this range matches the filters above.");
  }
  if (whole_wanted_ && result.complete) take_whole(with, make_content(with, table), table);
  const bool footer = ImGui::GetContentRegionAvail().y > with.px(min_for_footer);
  draw_table(with, table, footer);
  if (footer) draw_footer(with, table);
}

/// Copies or saves the table if all rows that can be shown are known. Otherwise requests all rows first.
void blocks_view::take_whole(const view_context& with, const table_content& content, const query::block_table& table) {
  const std::size_t most = query::block_table::row_limit;
  if (table.rows.size() < std::min<std::uint64_t>(table.count, most) && wanted_rows_ < most) {
    wanted_rows_ = most;
    return;
  }
  if (*whole_wanted_) {
    save_csv(with, content);
  } else {
    copy_csv(content);
  }
  whole_wanted_.reset();
}

/// Scrolls to the block that is to be revealed. If the block is not among the rows, requests more rows; if it is not
/// among all rows, drops the filters.
void blocks_view::look_for_wanted(const query::block_table& table) {
  const auto found = std::find_if(table.rows.begin(), table.rows.end(),
                                  [this](const query::block_row& row) { return row.block == wanted_.block; });
  if (found != table.rows.end()) {
    scroll_to_ = found - table.rows.begin();
    wanted_ = {};
  } else if (wanted_.tries++ == 0 && table.rows.size() < table.count) {
    wanted_rows_ = query::block_table::row_limit;
  } else if (wanted_.tries <= 2) {
    wanted_.tries = 2;
    filter_ = {};
    filter_.range = time_range{wanted_.born, wanted_.born + 1};
    wanted_rows_ = query::block_table::row_limit;
  } else {
    wanted_ = {};
  }
}

/// Draws the filters. A low panel shows only the text filter, because the rows need the space; a button shows the
/// others.
void blocks_view::draw_filters(const view_context& with, const query::query_result<metrics::report>& report) {
  const blocks_filter before = filter_;
  const bool low = ImGui::GetContentRegionAvail().y < with.px(min_for_filters);
  const float button = low ? ImGui::CalcTextSize("Filters (on)").x + ImGui::GetStyle().FramePadding.x * 2 +
                                 ImGui::GetStyle().ItemSpacing.x
                           : 0;
  ImGui::SetNextItemWidth(std::min(with.px(240), std::max(with.px(60), ImGui::GetContentRegionAvail().x - button)));
  ImGui::InputTextWithHint("##filter", "Line, function, module, name or address", &filter_.text);
  if (!low) {
    draw_filter_choices(with, report);
  } else {
    blocks_filter others = filter_;
    others.text.clear();
    others.layer.reset();
    ImGui::SameLine();
    if (ImGui::Button(others == blocks_filter{} ? "Filters###filters" : "Filters (on)###filters"))
      ImGui::OpenPopup("filters");
    if (ImGui::BeginPopup("filters")) {
      draw_filter_choices(with, report);
      ImGui::EndPopup();
    }
  }
  if (filter_ != before) start_over();
}

void blocks_view::draw_filter_choices(const view_context& with, const query::query_result<metrics::report>& report) {
  place_control(with.px(118));
  ImGui::SetNextItemWidth(with.px(118));
  if (ImGui::BeginCombo("##layer", filter_.layer ? get_name(*filter_.layer).data() : "all layers")) {
    if (ImGui::Selectable("all layers", !filter_.layer)) filter_.layer.reset();
    for (std::size_t i = 0; i < trace::layer_count; ++i) {
      const auto layer = static_cast<trace::layer>(i);
      if (ImGui::Selectable(get_name(layer).data(), filter_.layer == layer)) filter_.layer = layer;
    }
    ImGui::EndCombo();
  }
  place_control(with.px(140));
  ImGui::SetNextItemWidth(with.px(140));
  if (ImGui::BeginCombo("##category",
                        filter_.category ? index::category_name(*filter_.category).data() : "all categories")) {
    if (ImGui::Selectable("all categories", !filter_.category)) filter_.category.reset();
    for (std::size_t i = 1; i < index::category_count; ++i) {
      const auto subject = static_cast<index::category>(i);
      if (ImGui::Selectable(index::category_name(subject).data(), filter_.category == subject))
        filter_.category = subject;
    }
    ImGui::EndCombo();
  }
  place_control(with.px(132));
  ImGui::SetNextItemWidth(with.px(132));
  if (ImGui::BeginCombo("##size", size_words(filter_.min_bytes).c_str())) {
    for (const std::uint64_t each : sizes)
      if (ImGui::Selectable(size_words(each).c_str(), filter_.min_bytes == each)) filter_.min_bytes = each;
    ImGui::EndCombo();
  }
  place_control(with.px(104), with.px(between_choices));
  check_box(with, "never freed", &filter_.only_unfreed);
  place_control(with.px(100), with.px(between_choices));
  check_box(with, "never used", &filter_.only_unused);
  draw_moment_filter(with, report.value.get());
  draw_group_filter(with);
  if (has_several_processes(with)) {
    place_control(with.px(132));
    ImGui::SetNextItemWidth(with.px(132));
    process_combo(with, "##process", filter_.process);
  }
  place_control(with.px(190), with.px(between_choices));
  ImGui::SetNextItemWidth(with.px(190));
  attribution_combo(with, "##by", by_, choose_grouping(with, report));
}

/// Draws the filter by moment: "at the peak", or the time that a link from another panel chose.
void blocks_view::draw_moment_filter(const view_context& with, const metrics::report* report) {
  const metrics::memory_peak* peak = nullptr;
  if (report != nullptr)
    for (const metrics::memory_peak& each : report->peaks)
      if (index::is_device_resident(each.kind) && (!filter_.layer || each.layer == *filter_.layer) &&
          (peak == nullptr || each.bytes > peak->bytes))
        peak = &each;
  const auto at_peak = [&] { return time_range{peak->time, peak->time + 1}; };
  const bool elsewhere = filter_.range && (peak == nullptr || *filter_.range != at_peak());
  if (peak == nullptr && !elsewhere) return;
  place_control(with.px(110), with.px(between_choices));
  bool on = filter_.range.has_value();
  const std::string label = elsewhere ? "at " + format_moment(filter_.range->begin) : std::string("at the peak");
  if (check_box(with, (label + "###moment").c_str(), &on)) {
    filter_.range.reset();
    if (on) filter_.range = at_peak();
  }
}

/// Draws the filter by a group of the panel Memory over time.
void blocks_view::draw_group_filter(const view_context& with) {
  if (!filter_.groups && !filter_.device && !filter_.kind) return;
  place_control(with.px(140), with.px(between_choices));
  constexpr std::size_t longest = 40;  // characters
  bool on = true;
  if (check_box(with, (make_label(shortened(filter_.group_words, longest)) + "###group").c_str(), &on)) {
    filter_.groups.reset();
    filter_.device.reset();
    filter_.kind.reset();
    filter_.group_words.clear();
  }
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("Only blocks of %s", filter_.group_words.c_str());
}

void blocks_view::draw_footer(const view_context& with, const query::block_table& table) const {
  std::string text = format_some(table.count, "block") + ", " + format_bytes(static_cast<double>(table.total_bytes));
  if (!filter_.layer) text += "  (blocks of a layer are inside those of the layer below)";
  const bool limited = filter_ != blocks_filter{.range = filter_.range, .layer = filter_.layer};
  if (limited) {
    text += " matching these filters";
  } else if (!filter_.range && !with.state.range()) {
    text += filter_.layer ? ", allocations over the run" : " in total";
  }
  const std::uint64_t most = query::block_table::row_limit;
  if (most < table.count) text += "; the first " + format_count(most) + " are shown";
  if (filter_.range && filter_.range->length() == 1) {
    text += ", live at " + format_moment(filter_.range->begin);
  } else if (!filter_.range && with.state.range()) {
    text += ", live in the selected range";
  }
  clipped_text(text, ImGui::GetContentRegionAvail().x);
}

void blocks_view::draw_table(const view_context& with, const query::block_table& table, bool footer) {
  ImVec2 room = ImGui::GetContentRegionAvail();
  if (footer) room.y -= ImGui::GetTextLineHeightWithSpacing();
  const float row_height = ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
  const float bar = ImGui::GetStyle().ScrollbarSize;
  const bool sideways = room.x - bar - with.px(2) < with.px(min_width);
  const float level_bar = sideways ? bar : 0;  // height of ImGui's horizontal scroll bar
  const auto fits = static_cast<std::int64_t>(std::max(1.0F, std::floor((room.y - level_bar) / row_height) - 1));
  const auto rows = static_cast<std::int64_t>(std::min<std::uint64_t>(table.count, query::block_table::row_limit));
  const auto known = static_cast<std::int64_t>(table.rows.size());
  const std::int64_t last_first = std::max<std::int64_t>(0, rows - fits);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  if (scroll_to_ && (*scroll_to_ < first_ || *scroll_to_ >= first_ + fits)) first_ = *scroll_to_ - fits / 2;
  scroll_to_.reset();
  if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
    first_ -= static_cast<std::int64_t>(std::lround(ImGui::GetIO().MouseWheel * 3));
  row_scroll_bar(with, {origin.x + room.x - bar, origin.y + row_height}, {bar, room.y - row_height}, rows, fits,
                 first_);
  first_ = std::clamp<std::int64_t>(first_, 0, last_first);
  ImGui::SetCursorScreenPos(origin);
  // A click anywhere on a row selects it, so columns can be resized only at their headings.
  const ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_Resizable | ImGuiTableFlags_Hideable |
                                ImGuiTableFlags_Reorderable | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_ScrollX | ImGuiTableFlags_BordersInnerH |
                                ImGuiTableFlags_NoBordersInBody;
  const auto shown = shown_columns(with);
  // ImGui stores the column settings of a table by the table's id, so a different number of columns requires a
  // different id.
  if (!ImGui::BeginTable(shown.size() == columns.size() ? "blocks of ranks" : "blocks", static_cast<int>(shown.size()),
                         flags, {room.x - bar - with.px(2), room.y}, sideways ? with.px(min_width) : 0))
    return;
  for (const column& each : shown) {
    ImGuiTableColumnFlags own = ImGuiTableColumnFlags_WidthStretch;
    if (each.sort == unsorted) own |= ImGuiTableColumnFlags_NoSort;
    if (each.hidden) own |= ImGuiTableColumnFlags_DefaultHide;
    if (each.metrics) own |= ImGuiTableColumnFlags_PreferSortDescending;
    if (each.sort == block_column::bytes) own |= ImGuiTableColumnFlags_DefaultSort;
    ImGui::TableSetupColumn(each.title, own, each.width, static_cast<ImGuiID>(each.sort));
  }
  sort_as_wanted();
  draw_headings();
  if (ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs(); specs != nullptr && specs->SpecsDirty) {
    if (specs->SpecsCount > 0) {
      sort_ = static_cast<block_column>(specs->Specs[0].ColumnUserID);
      descending_ = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
    }
    specs->SpecsDirty = false;
  }
  if (known < std::min(rows, first_ + fits)) wanted_rows_ = query::block_table::row_limit;
  const table_content content = make_content(with, table);
  for (std::int64_t i = first_; i < std::min(known, first_ + fits); ++i)
    draw_row(with, content, table, static_cast<std::size_t>(i));
  ImGui::EndTable();
  menu_.scroll_by_keys(first_, fits, known);
}

/// Sorts by the column that a command named. Has the same effect as a click on the column's heading.
void blocks_view::sort_as_wanted() {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [this](const column& c) { return c.title == sort_wanted_; });
  if (found != columns.end() && found->sort != unsorted)
    ImGui::TableSetColumnSortDirection(static_cast<int>(found - columns.begin()),
                                       found->metrics ? ImGuiSortDirection_Descending : ImGuiSortDirection_Ascending,
                                       false);
  sort_wanted_.clear();
}

/// Works like ImGui::TableHeadersRow(), but right-aligns the titles of numeric columns, as their numbers are.
void blocks_view::draw_headings() {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (int i = 0; i < ImGui::TableGetColumnCount(); ++i) {
    if (!ImGui::TableSetColumnIndex(i)) continue;
    const column& each = columns[static_cast<std::size_t>(i)];
    if (each.metrics) {
      const bool sorted = (ImGui::TableGetColumnFlags(i) & ImGuiTableColumnFlags_IsSorted) != 0;
      const float arrow = sorted ? ImGui::GetFontSize() * 0.65F + ImGui::GetStyle().FramePadding.x : 0;
      const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(each.title).x - arrow;
      if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
    }
    ImGui::PushID(i);
    ImGui::TableHeader(each.title);
    if (each.tip != nullptr && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("%s", each.tip);
    ImGui::PopID();
  }
}

void blocks_view::draw_row(const view_context& with, const table_content& content, const query::block_table& table,
                           std::size_t at) {
  const query::block_row& row = table.rows[at];
  const selection& chosen = with.state.selected();
  const bool selected = chosen.kind == selection_kind::block && chosen.id == trace::raw(row.block);
  on_screen_.push_back(row.block);
  ImGui::TableNextRow();
  ImGui::PushID(static_cast<int>(trace::raw(row.block)));
  bool first = true;
  for (const column& each : shown_columns(with)) {
    if (!ImGui::TableNextColumn()) continue;
    if (first) {
      const ImVec2 begin = ImGui::GetCursorPos();
      if (menu_.item(with, content, at, selected, ImGuiSelectableFlags_AllowDoubleClick)) {
        with.commands.invoke("selection.set", select_block(with, row.block));
        if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) with.commands.invoke("selection.reveal");
      }
      ImGui::SetCursorPos(begin);
    }
    first = false;
    draw_cell(with, table, at, each.cell);
  }
  ImGui::PopID();
}

table_content blocks_view::make_content(const view_context& with, const query::block_table& table) {
  const std::span<const column> shown = shown_columns(with);
  table_content content{"Blocks", std::span(block_columns).first(shown.size()), table.rows.size()};
  content.cells = [&, shown](std::size_t row, std::vector<table_cell>& to) {
    for (const column& each : shown) to.push_back(cell(with, table, row, each.cell));
  };
  content.target = [&](std::size_t row) {
    row_target target;
    target.shows = select_block(with, table.rows[row].block);
    target.lists_blocks = false;
    return target;
  };
  content.more = [&](std::size_t row) { filter_entries(with, table, row); };
  content.whole = [this](bool save) { whole_wanted_ = save; };
  return content;
}

/// Adds menu entries that limit the list to blocks similar to this one.
void blocks_view::filter_entries(const view_context& with, const query::block_table& table, std::size_t at) {
  const query::block_row& row = table.rows[at];
  const blocks_filter before = filter_;
  const std::string who = at < table.asked_by.size() ? table.names[table.asked_by[at]] : std::string();
  if (ImGui::MenuItem(table.by == symbols::attribution::line ? "Only blocks of this line" : "Only blocks of this group",
                      nullptr, false, !who.empty()))
    filter_.text = who;
  if (row.category.kind != index::category::none && ImGui::MenuItem("Only blocks of this category"))
    filter_.category = row.category.kind;
  if (ImGui::MenuItem("Only blocks of at least this size")) filter_.min_bytes = row.bytes;
  if (ImGui::MenuItem("Only blocks that are live when this block is allocated"))
    filter_.range = time_range{row.born, row.born + 1};
  if (has_several_processes(with) && ImGui::MenuItem("Only blocks of this process")) filter_.process = row.process;
  if (ImGui::MenuItem("Remove all filters", nullptr, false, filter_ != blocks_filter{})) filter_ = {};
  ImGui::Separator();
  if (filter_ != before) start_over();
}

void blocks_view::draw_cell(const view_context& with, const query::block_table& table, std::size_t at,
                            block_cell subject) {
  const query::block_row& row = table.rows[at];
  if (subject == block_cell::category) return draw_category(with, row.category);
  if (subject == block_cell::layer) swatch(with, with.colours.layers[static_cast<std::size_t>(row.layer)]);
  const table_cell value = cell(with, table, at, subject);
  const auto found =
      std::find_if(columns.begin(), columns.end(), [subject](const column& c) { return c.cell == subject; });
  if (found->metrics) return right_text(value.shown(), value.muted());
  clipped_text(value.shown(), ImGui::GetContentRegionAvail().x);
}

table_cell blocks_view::cell(const view_context& with, const query::block_table& table, std::size_t at,
                             block_cell subject) {
  const query::block_row& row = table.rows[at];
  const bool kept = row.died == trace::unknown_time;
  const auto use = [&](time_ns time) {
    if (!table.uses_known) return table_cell::none();
    return time == trace::unknown_time ? table_cell::none("never") : table_cell::moment(time);
  };
  switch (subject) {
    case block_cell::size:
      return table_cell::bytes(row.bytes);
    case block_cell::line:
      return table_cell::text(at < table.asked_by.size() ? table.names[table.asked_by[at]] : std::string());
    case block_cell::category:
      return table_cell::text(row.category.kind == index::category::none ? ""
                                                                         : index::category_name(row.category.kind));
    case block_cell::born:
      return table_cell::moment(row.born);
    case block_cell::died:
      return kept ? table_cell::none("never") : table_cell::moment(row.died);
    case block_cell::lifetime:
      return kept ? table_cell::none() : table_cell::duration(row.died - row.born);
    case block_cell::first_use:
      return use(row.first_use);
    case block_cell::last_use:
      return use(row.last_use);
    case block_cell::idle:
      return table.uses_known ? table_cell::duration(query::idle_at_end(row, with.state.active()->span.end))
                              : table_cell::none();
    case block_cell::uses:
      return table.uses_known ? table_cell::count(row.uses) : table_cell::none();
    case block_cell::step:
      return at < table.steps.size() && table.steps[at] >= 0 ? table_cell::text(std::to_string(table.steps[at]))
                                                             : table_cell::none();
    case block_cell::address:
      return table_cell::address(row.address);
    case block_cell::layer:
      return table_cell::text(get_name(row.layer));
    case block_cell::kind:
      return table_cell::text(get_name(row.kind));
    case block_cell::name:
      return table_cell::text(with.text(row.name));
    case block_cell::process:
      return table_cell::text(process_words(with, row.process));
  }
  return table_cell::none();
}

void blocks_view::draw_category(const view_context& with, const index::block_category& category) {
  if (category.kind == index::category::none) return;
  swatch(with, with.colours.categories[static_cast<std::size_t>(category.kind)]);
  clipped_text(index::category_name(category.kind), ImGui::GetContentRegionAvail().x);
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) return;
  ImGui::SetTooltip("%s: %s", category.exact() ? "exact" : "inferred", index::get_words(category.why).data());
}

}  // namespace sluice::gui
