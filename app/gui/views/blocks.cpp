#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/trace/model/names.hpp"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

struct column {
  const char* title;
  query::block_column sort;
  float width;   ///< As a share of the table's width.
  bool figures;  ///< Right-aligned.
};
constexpr std::array<column, 9> columns = {{{"Address", query::block_column::address, 128, false},
                                            {"Size", query::block_column::bytes, 84, true},
                                            {"Layer", query::block_column::layer, 96, false},
                                            {"Kind", query::block_column::kind, 74, false},
                                            {"Allocated", query::block_column::born, 92, true},
                                            {"Freed", query::block_column::died, 92, true},
                                            {"Lifetime", query::block_column::lifetime, 84, true},
                                            {"Category", query::block_column::category, 96, false},
                                            {"Name", query::block_column::name, 202, false}}};

/// The blocks that were live in the selected range or in the whole recording. Scrolls by row index, because a float
/// cannot address the rows of a long recording in pixels.
class blocks_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Blocks"; }
  [[nodiscard]] bool offers_choices() const override { return true; }
  [[nodiscard]] bool scrolls() const override { return false; }
  void reset() override {
    question_ = {};
    first_ = 0;
    wanted_rows_ = query::block_table::first_rows;
  }

  void draw(view_context& with) override {
    const document& shown = *with.state.active();
    draw_filters(with);
    query::blocks_question wanted{
        with.state.range().value_or(shown.span), level_, only_unfreed_, sort_, descending_, filter_, wanted_rows_, by_};
    const auto answer = question_.ask(*shown.engine, wanted);
    progress_line(with, answer.complete, answer.progress);
    if (!answer) return;
    const query::block_table& table = *answer.value;
    shown_by_ = table.by;
    draw_count(with, table);
    if (table.rows.empty() && answer.complete)
      return empty_state(with, icon::search, "No blocks match",
                         filter_.empty() && !only_unfreed_ && !level_
                             ? "Nothing was allocated in this range."
                             : "No block in this range passes the filters above.");
    draw_table(with, table);
  }

 private:
  void draw_filters(const view_context& with) {
    ImGui::SetNextItemWidth(std::min(with.px(220), ImGui::GetContentRegionAvail().x * 0.35F));
    ImGui::InputTextWithHint("##filter", "Name or address", &filter_);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(with.px(118));
    if (ImGui::BeginCombo("##layer", level_ ? name_of(*level_).data() : "all layers")) {
      if (ImGui::Selectable("all layers", !level_)) level_.reset();
      for (std::size_t i = 0; i < trace::layer_count; ++i) {
        const auto layer = static_cast<trace::layer>(i);
        if (ImGui::Selectable(name_of(layer).data(), level_ == layer)) level_ = layer;
      }
      ImGui::EndCombo();
    }
    ImGui::SameLine();
    ImGui::Checkbox("never freed", &only_unfreed_);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(with.px(170));
    attribution_combo("##by", by_, shown_by_);
  }

  static void draw_count(const view_context& with, const query::block_table& table) {
    std::string text = format_some(table.count, "block");
    const std::uint64_t most = query::block_table::row_limit;
    if (most < table.count) text = "first " + format_count(most) + " of " + text;
    if (with.state.range()) text += " in the selected range";
    const float width = ImGui::CalcTextSize(text.c_str()).x;
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < width) return ImGui::NewLine();
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - width);
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", text.c_str());
  }

  void draw_table(const view_context& with, const query::block_table& table) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float row_height = ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
    const float bar = ImGui::GetStyle().ScrollbarSize;
    const auto fits = static_cast<std::int64_t>(std::max(1.0F, std::floor(room.y / row_height) - 1));
    const auto rows = static_cast<std::int64_t>(std::min<std::uint64_t>(table.count, query::block_table::row_limit));
    const auto known = static_cast<std::int64_t>(table.rows.size());
    const std::int64_t last_first = std::max<std::int64_t>(0, rows - fits);
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
      first_ -= static_cast<std::int64_t>(std::lround(ImGui::GetIO().MouseWheel * 3));
    row_scroll_bar(with, {origin.x + room.x - bar, origin.y + row_height}, {bar, room.y - row_height}, rows, fits,
                   first_);
    first_ = std::clamp<std::int64_t>(first_, 0, last_first);
    ImGui::SetCursorScreenPos(origin);
    // A click anywhere on a row selects it; columns are resized by their headings only.
    const ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_Resizable |
                                  ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_ScrollX |
                                  ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_NoBordersInBody;
    if (!ImGui::BeginTable("blocks", static_cast<int>(columns.size()) + 1, flags, {room.x - bar - with.px(2), room.y}))
      return;
    for (const column& each : columns) {
      ImGuiTableColumnFlags own = ImGuiTableColumnFlags_WidthStretch;
      if (each.sort == query::block_column::bytes || each.sort == query::block_column::lifetime)
        own |= ImGuiTableColumnFlags_PreferSortDescending;
      if (each.sort == query::block_column::bytes) own |= ImGuiTableColumnFlags_DefaultSort;
      ImGui::TableSetupColumn(each.title, own, each.width, static_cast<ImGuiID>(each.sort));
    }
    ImGui::TableSetupColumn("Asked for by", ImGuiTableColumnFlags_WidthStretch | ImGuiTableColumnFlags_NoSort, 202);
    draw_headings();
    if (ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs(); specs != nullptr && specs->SpecsDirty) {
      if (specs->SpecsCount > 0) {
        sort_ = static_cast<query::block_column>(specs->Specs[0].ColumnUserID);
        descending_ = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
      }
      specs->SpecsDirty = false;
    }
    if (known < std::min(rows, first_ + fits)) wanted_rows_ = query::block_table::row_limit;
    for (std::int64_t i = first_; i < std::min(known, first_ + fits); ++i) {
      const auto place = static_cast<std::size_t>(i);
      draw_row(with, table.rows[place]);
      ImGui::TableNextColumn();
      if (place < table.asked_by.size()) ImGui::TextUnformatted(table.names[table.asked_by[place]].c_str());
    }
    ImGui::EndTable();
  }

  /// Like ImGui::TableHeadersRow(), but right-aligns the titles of numeric columns, like their numbers.
  static void draw_headings() {
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
      if (!ImGui::TableSetColumnIndex(i)) continue;
      const column& each = columns[static_cast<std::size_t>(i)];
      if (each.figures) {
        const bool sorted = (ImGui::TableGetColumnFlags(i) & ImGuiTableColumnFlags_IsSorted) != 0;
        const float arrow = sorted ? ImGui::GetFontSize() * 0.65F + ImGui::GetStyle().FramePadding.x : 0;
        const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(each.title).x - arrow;
        if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
      }
      ImGui::PushID(i);
      ImGui::TableHeader(each.title);
      ImGui::PopID();
    }
    if (ImGui::TableSetColumnIndex(static_cast<int>(columns.size()))) ImGui::TableHeader("Asked for by");
  }

  static void draw_row(const view_context& with, const query::block_row& row) {
    const selection& chosen = with.state.selected();
    const bool selected = chosen.kind == selection_kind::block && chosen.id == trace::raw(row.block);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(trace::raw(row.block)));
    const std::string address = format_address(row.address);
    if (ImGui::Selectable(address.c_str(), selected,
                          ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowDoubleClick)) {
      with.commands.invoke("selection.set",
                           selection{with.state.active()->id, selection_kind::block, trace::raw(row.block)});
      if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) with.commands.invoke("selection.reveal");
    }
    ImGui::PopID();
    ImGui::TableNextColumn();
    right_text(format_bytes(static_cast<double>(row.bytes)));
    ImGui::TableNextColumn();
    swatch(with, with.colours.layers[static_cast<std::size_t>(row.layer)]);
    ImGui::TextUnformatted(name_of(row.layer).data());
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(name_of(row.kind).data());
    ImGui::TableNextColumn();
    right_text(format_moment(row.born));
    ImGui::TableNextColumn();
    const bool kept = row.died == trace::unknown_time;
    right_text(kept ? std::string("never") : format_moment(row.died), kept);
    ImGui::TableNextColumn();
    right_text(kept ? std::string("-") : format_time(row.died - row.born), kept);
    ImGui::TableNextColumn();
    draw_category(with, row.category);
    ImGui::TableNextColumn();
    const std::string_view name = with.text(row.name);
    ImGui::TextUnformatted(name.data(), name.data() + name.size());
  }

  static void draw_category(const view_context& with, const analysis::block_category& is) {
    if (is.what == analysis::category::none) return;
    swatch(with, with.colours.categories[static_cast<std::size_t>(is.what)]);
    ImGui::TextUnformatted(analysis::category_name(is.what).data());
    if (!ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) return;
    ImGui::SetTooltip("%s: %s", is.exact() ? "exact" : "inferred", analysis::words_of(is.why).data());
  }

  screen_slot<query::blocks_question> question_;
  std::size_t wanted_rows_ = query::block_table::first_rows;  ///< All rows once the user scrolls to the end of these.
  std::string filter_;
  std::optional<trace::layer> level_;
  bool only_unfreed_ = false;
  std::optional<symbols::attribution> by_;  ///< None: what splits the rows most evenly.
  symbols::attribution shown_by_ = symbols::attribution::line;
  query::block_column sort_ = query::block_column::bytes;
  bool descending_ = true;
  std::int64_t first_ = 0;
};

}  // namespace

std::unique_ptr<view> make_blocks_view() { return std::make_unique<blocks_view>(); }

}  // namespace sluice::gui
