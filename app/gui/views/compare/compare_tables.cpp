#include "app/gui/views/compare/compare_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/gui/views/compare/difference_flames.hpp"
#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {
namespace {

constexpr std::array<table_column, 5> metric_columns = {
    {{"metric", "figure"}, {"before", "before"}, {"after", "after"}, {"difference", "difference"}, {nullptr, "unit"}}};
constexpr std::array<table_column, 6> grown_columns = {{{"allocated by", "asked_by"},
                                                        {"before", "bytes_before"},
                                                        {"after", "bytes_after"},
                                                        {"difference", "bytes_difference"},
                                                        {"blocks", "blocks_before"},
                                                        {nullptr, "blocks_after"}}};

const char* get_unit(metrics::compared_unit unit) {
  switch (unit) {
    case metrics::compared_unit::bytes:
      return "bytes";
    case metrics::compared_unit::count:
      return "count";
    case metrics::compared_unit::time:
      return "ns";
    case metrics::compared_unit::rate:
      return "bytes_per_second";
  }
  return "";
}

std::string format_amount(metrics::compared_unit unit, double value) {
  switch (unit) {
    case metrics::compared_unit::bytes:
      return format_bytes(value);
    case metrics::compared_unit::count:
      return format_count(static_cast<std::uint64_t>(value));
    case metrics::compared_unit::time:
      return format_time(static_cast<time_ns>(value));
    case metrics::compared_unit::rate:
      return format::value(value, format::value_unit::rate);
  }
  return {};
}

ImU32 change_colour(const theme& colours, double before, double after) {
  return before == after ? colours.muted : after > before ? colours.failure : colours.accent;
}

/// Formats a number; whole numbers have no exponent.
std::string plain_number(double value) {
  return value == std::floor(value) && std::abs(value) < 9e15 ? std::to_string(static_cast<std::int64_t>(value))
                                                              : std::to_string(value);
}

/// Draws the metrics of a row: before, after, and the difference in the colour of growth or shrinkage.
void change_cells(const theme& colours, std::span<const table_cell> cells, double before, double after) {
  metric_cell(cells[1].shown());
  metric_cell(cells[2].shown());
  ImGui::PushStyleColor(ImGuiCol_Text, change_colour(colours, before, after));
  metric_cell(cells[3].shown());
  ImGui::PopStyleColor();
}

}  // namespace

void draw_metric_table(const view_context& with, const std::vector<metrics::compared_value>& values, row_menu& rows) {
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY;
  if (!ImGui::BeginTable("figures", 4, flags)) return;
  ImGui::TableSetupColumn("metric", ImGuiTableColumnFlags_WidthStretch);
  for (const char* title : {"before", "after", "difference"})
    ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthFixed);
  metric_heads({"metric", "before", "after", "difference"});
  table_content content{"Comparison", metric_columns, values.size()};
  content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
    const metrics::compared_value& each = values[row];
    const std::string by = format_amount(each.unit, std::abs(each.after - each.before));
    to.push_back(table_cell::text(each.label));
    to.push_back(table_cell::words(format_amount(each.unit, each.before), plain_number(each.before)));
    to.push_back(table_cell::words(format_amount(each.unit, each.after), plain_number(each.after)));
    to.push_back(table_cell::words(change_words(each.before, each.after, by), plain_number(each.after - each.before)));
    to.push_back(table_cell::text(get_unit(each.unit)));
  };
  for (std::size_t row = 0; row < content.rows; ++row) {
    const metrics::compared_value& each = values[row];
    ImGui::PushID(static_cast<int>(row));
    rows.begin_row(with, content, row);
    const std::vector<table_cell>& cells = rows.cells(content, row);
    first_cell(cells[0].shown());
    change_cells(with.colours, cells, each.before, each.after);
    ImGui::PopID();
  }
  ImGui::EndTable();
}

void growth_table::draw(const view_context& with, const metrics::memory_difference& memory, const open_side& before,
                        const open_side& after, row_menu& rows) {
  struct choice {
    grouping by;
    const char* title;
    const std::vector<metrics::grown_group>* groups;
  };
  const std::array<choice, 3> choices = {{{grouping::module, "by module", &memory.modules},
                                          {grouping::line, "by line", &memory.lines},
                                          {grouping::category, "by category", &memory.categories}}};
  if (!by_chosen_) by_ = memory.by_module ? grouping::module : grouping::line;
  const auto* now = std::find_if(choices.begin(), choices.end(), [&](const choice& each) { return each.by == by_; });
  if (now->groups->empty()) now = &choices[1];
  for (const choice& each : choices) {
    if (&each != choices.begin()) ImGui::SameLine();
    ImGui::BeginDisabled(each.groups->empty());
    if (radio_button(with, each.title, now == &each)) by_ = each.by, by_chosen_ = true;
    ImGui::EndDisabled();
  }
  const std::string peaks =
      "live at the peak: " + format_bytes(memory.before.maximum) + " to " + format_bytes(memory.after.maximum);
  place_control(ImGui::CalcTextSize(peaks.c_str()).x, with.px(16));
  clipped_text(peaks, ImGui::GetContentRegionAvail().x);
  draw_rows(with, memory, *now->groups, before, after, rows);
}

void growth_table::draw_rows(const view_context& with, const metrics::memory_difference& memory,
                             const std::vector<metrics::grown_group>& groups, const open_side& before,
                             const open_side& after, row_menu& rows) {
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY;
  if (!ImGui::BeginTable("grown", 5, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch);
  for (const char* title : {"before", "after", "difference", "blocks"})
    ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthFixed);
  metric_heads({"allocated by", "before", "after", "difference", "blocks"});
  table_content content{"Growth", grown_columns, groups.size()};
  content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
    const metrics::grown_group& each = groups[row];
    const auto a = static_cast<double>(each.before.bytes);
    const auto b = static_cast<double>(each.after.bytes);
    to.push_back(
        table_cell::text(each.place.empty() || each.place == each.name ? each.name : each.place + ", " + each.name));
    to.push_back(table_cell::bytes(each.before.bytes));
    to.push_back(table_cell::bytes(each.after.bytes));
    to.push_back(table_cell::words(change_words(a, b, format_bytes(std::abs(b - a))), plain_number(b - a)));
    to.push_back(table_cell::words(format_count(each.before.count) + " to " + format_count(each.after.count),
                                   std::to_string(each.before.count)));
    to.push_back(table_cell::count(each.after.count));
  };
  content.target = [&](std::size_t row) {
    row_target target;
    const metrics::grown_group& each = groups[row];
    if (!each.line.file.empty() || !each.line.function.empty()) target.line = each.line;
    blocks_filter blocks;
    const bool by_category = &groups == &memory.categories;
    const bool by_module = &groups == &memory.modules && each.name != metrics::no_module;
    if (by_category) blocks.category = each.category;
    if (target.line) blocks.text = symbols::format_place_and_name(*target.line);
    if (by_module) blocks.text = each.name;
    if (by_category || by_module || target.line) target.blocks = blocks;
    return target;
  };
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(groups.size()));
  while (clipper.Step())
    for (int row = clipper.DisplayStart; row < clipper.DisplayEnd; ++row) {
      const metrics::grown_group& each = groups[static_cast<std::size_t>(row)];
      ImGui::PushID(row);
      if (rows.begin_row(with, content, static_cast<std::size_t>(row))) go_to(memory, each, before, after);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip(
            "Click to select this row's largest block at the peak, in the recording in which the row is larger.");
      const std::vector<table_cell>& cells = rows.cells(content, static_cast<std::size_t>(row));
      first_cell(cells[0].shown());
      change_cells(with.colours, cells, static_cast<double>(each.before.bytes), static_cast<double>(each.after.bytes));
      metric_cell(cells[4].shown(), true);
      ImGui::PopID();
    }
  ImGui::EndTable();
}

void growth_table::go_to(const metrics::memory_difference& memory, const metrics::grown_group& group,
                         const open_side& before, const open_side& after) {
  const bool later = group.after.bytes >= group.before.bytes;
  const metrics::memory_statistics& larger = later ? memory.after : memory.before;
  const open_side& side = later ? after : before;
  jump wanted;
  wanted.document = side.recording->id;
  wanted.time = larger.maximum_time;
  wanted.query.range = {larger.maximum_time, larger.maximum_time + 1};
  wanted.query.layer = larger.layer;
  wanted.query.by = symbols::attribution::line;
  wanted.query.process = side.process;
  wanted.device = larger.device;
  wanted.kind = larger.kind;
  for (const trace::stack_id each : later ? group.stacks_after : group.stacks_before)
    wanted.stacks.insert(trace::raw(each));
  if (wanted.stacks.empty()) wanted.category = group.category;
  jump_ = std::move(wanted);
}

void growth_table::follow(const view_context& with) {
  if (!jump_) return;
  const document* recording = find_document(with.state, jump_->document);
  if (recording == nullptr || !recording->ready()) return jump_.reset();
  const auto result = jump_query_.ask(*recording->engine, jump_->query);
  if (result.failure) return jump_.reset();
  if (!result || !result.complete) return;
  for (const query::block_row& row : result->rows) {
    if (row.device != jump_->device || row.kind != jump_->kind) continue;
    if (jump_->category ? row.category.kind != *jump_->category : !jump_->stacks.contains(trace::raw(row.stack)))
      continue;
    with.commands.invoke("compare.go", selection{jump_->document, selection_kind::block, trace::raw(row.block)});
    with.commands.invoke("moment.set", time_range{jump_->time, jump_->time});
    break;
  }
  jump_.reset();
}

}  // namespace sluice::gui
