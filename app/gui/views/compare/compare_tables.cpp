// The tables of a comparison: its metrics, and what grew.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/gui/views/compare/compare.hpp"
#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/row_menu.hpp"
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

const char* unit_of(metrics::compared_unit unit) {
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

std::string amount_of(metrics::compared_unit unit, double value) {
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

void compare_view::draw_metrics(const view_context& with) {
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY;
  if (!ImGui::BeginTable("figures", 4, flags)) return;
  ImGui::TableSetupColumn("metric", ImGuiTableColumnFlags_WidthStretch);
  for (const char* title : {"before", "after", "difference"})
    ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthFixed);
  metric_heads({"metric", "before", "after", "difference"});
  table_content content{"Comparison", metric_columns, shown_->values.size()};
  content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
    const metrics::compared_value& each = shown_->values[row];
    const std::string by = amount_of(each.unit, std::abs(each.after - each.before));
    to.push_back(table_cell::text(each.label));
    to.push_back(table_cell::words(amount_of(each.unit, each.before), plain_number(each.before)));
    to.push_back(table_cell::words(amount_of(each.unit, each.after), plain_number(each.after)));
    to.push_back(table_cell::words(change_words(each.before, each.after, by), plain_number(each.after - each.before)));
    to.push_back(table_cell::text(unit_of(each.unit)));
  };
  for (std::size_t row = 0; row < content.rows; ++row) {
    const metrics::compared_value& each = shown_->values[row];
    ImGui::PushID(static_cast<int>(row));
    rows_.begin_row(with, content, row);
    const std::vector<table_cell>& cells = rows_.cells(content, row);
    first_cell(cells[0].shown());
    change_cells(with.colours, cells, each.before, each.after);
    ImGui::PopID();
  }
  ImGui::EndTable();
}

void compare_view::draw_grown(const view_context& with, const side& before, const side& after) {
  if (memory_ >= shown_->memory.size()) return ImGui::TextDisabled("Neither side allocates memory.");
  const metrics::memory_difference& memory = shown_->memory[memory_];
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
  draw_grown_rows(with, *now->groups, before, after);
}

void compare_view::draw_grown_rows(const view_context& with, const std::vector<metrics::grown_group>& groups,
                                   const side& before, const side& after) {
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY;
  if (!ImGui::BeginTable("grown", 5, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch);
  for (const char* title : {"before", "after", "difference", "blocks"})
    ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthFixed);
  metric_heads({"allocated by", "before", "after", "difference", "blocks"});
  table_content content{"What grew", grown_columns, groups.size()};
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
    row_target made;
    const metrics::grown_group& each = groups[row];
    if (!each.line.file.empty() || !each.line.function.empty()) made.line = each.line;
    blocks_filter blocks;
    const bool by_category = &groups == &shown_->memory[memory_].categories;
    const bool by_module = &groups == &shown_->memory[memory_].modules && each.name != metrics::no_module;
    if (by_category) blocks.category = each.what;
    if (made.line) blocks.text = symbols::place_and_name_of(*made.line);
    if (by_module) blocks.text = each.name;
    if (by_category || by_module || made.line) made.blocks = blocks;
    return made;
  };
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(groups.size()));
  while (clipper.Step())
    for (int row = clipper.DisplayStart; row < clipper.DisplayEnd; ++row) {
      const metrics::grown_group& each = groups[static_cast<std::size_t>(row)];
      ImGui::PushID(row);
      if (rows_.begin_row(with, content, static_cast<std::size_t>(row))) go_to(each, before, after);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip("Click to select its largest block at the peak, in the recording in which it is larger.");
      const std::vector<table_cell>& cells = rows_.cells(content, static_cast<std::size_t>(row));
      first_cell(cells[0].shown());
      change_cells(with.colours, cells, static_cast<double>(each.before.bytes), static_cast<double>(each.after.bytes));
      metric_cell(cells[4].shown(), true);
      ImGui::PopID();
    }
  ImGui::EndTable();
}

void compare_view::go_to(const metrics::grown_group& group, const side& before, const side& after) {
  const bool later = group.after.bytes >= group.before.bytes;
  const metrics::memory_difference& memory = shown_->memory[memory_];
  const metrics::memory_statistics& of = later ? memory.after : memory.before;
  jump made;
  made.document = (later ? after : before).of->id;
  made.time = of.maximum_time;
  made.query.range = {of.maximum_time, of.maximum_time + 1};
  made.query.layer = of.layer;
  made.query.by = symbols::attribution::line;
  made.device = of.device;
  made.kind = of.kind;
  made.query.process = (later ? after : before).process;
  for (const trace::stack_id each : later ? group.stacks_after : group.stacks_before)
    made.stacks.insert(trace::raw(each));
  if (made.stacks.empty()) made.category = group.what;
  jump_ = std::move(made);
}

}  // namespace sluice::gui
