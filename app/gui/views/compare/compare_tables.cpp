#include "app/gui/views/compare/compare_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/gui/views/compare/difference_flames.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {
namespace {

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

/// The tone of growth or shrinkage.
tone change_tone(double before, double after) {
  return before == after ? tone::muted : after > before ? tone::failure : tone::shrunk;
}

/// Formats a number; whole numbers have no exponent.
std::string plain_number(double value) {
  return value == std::floor(value) && std::abs(value) < 9e15 ? std::to_string(static_cast<std::int64_t>(value))
                                                              : std::to_string(value);
}

}  // namespace

void draw_metric_table(const view_context& with, const std::vector<metrics::compared_value>& values,
                       view_tables& tables) {
  table_of<metrics::compared_value> table("Comparison", values);
  table.text("metric", "figure", [](const auto& each) { return each.label; });
  table.count("before", "before", [](const auto& each) {
    return table_cell::words(format_amount(each.unit, each.before), plain_number(each.before));
  });
  table.count("after", "after", [](const auto& each) {
    return table_cell::words(format_amount(each.unit, each.after), plain_number(each.after));
  });
  table.count("difference", "difference", [](const auto& each) {
    const std::string by = format_amount(each.unit, std::abs(each.after - each.before));
    return table_cell::words(change_words(each.before, each.after, by), plain_number(each.after - each.before))
        .in(change_tone(each.before, each.after));
  });
  table.text("", "unit", [](const auto& each) { return get_unit(each.unit); });
  tables.draw(with, table, {.scrolls = true});
}

void growth_table::draw(const view_context& with, const metrics::memory_difference& memory, const open_side& before,
                        const open_side& after, view_tables& tables) {
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
  draw_rows(with, memory, *now->groups, before, after, tables);
}

void growth_table::draw_rows(const view_context& with, const metrics::memory_difference& memory,
                             const std::vector<metrics::grown_group>& groups, const open_side& before,
                             const open_side& after, view_tables& tables) {
  table_of<metrics::grown_group> table("Growth", groups);
  table.text("allocated by", "asked_by", [](const auto& each) {
    return each.place.empty() || each.place == each.name ? each.name : each.place + ", " + each.name;
  });
  table.bytes("before", "bytes_before", [](const auto& each) { return each.before.bytes; });
  table.bytes("after", "bytes_after", [](const auto& each) { return each.after.bytes; });
  table.bytes("difference", "bytes_difference", [](const auto& each) {
    const auto a = static_cast<double>(each.before.bytes), b = static_cast<double>(each.after.bytes);
    return table_cell::words(change_words(a, b, format_bytes(std::abs(b - a))), plain_number(b - a))
        .in(change_tone(a, b));
  });
  table.count("blocks", "blocks_before", [](const auto& each) {
    return table_cell::words(format_count(each.before.count) + " to " + format_count(each.after.count),
                             std::to_string(each.before.count))
        .in(tone::muted);
  });
  table.count("", "blocks_after", [](const auto& each) { return each.after.count; });
  table.leads_to([&](const auto& each) {
    row_target target;
    if (!each.line.file.empty() || !each.line.function.empty()) target.line = each.line;
    blocks_filter blocks;
    const bool by_category = &groups == &memory.categories;
    const bool by_module = &groups == &memory.modules && each.name != metrics::no_module;
    if (by_category) blocks.category = each.category;
    if (target.line) blocks.text = symbols::format_place_and_name(*target.line);
    if (by_module) blocks.text = each.name;
    if (by_category || by_module || target.line) target.blocks = blocks;
    return target;
  });
  table.on_click([&](const auto& each) { go_to(memory, each, before, after); });
  table.tip = "Click to select this row's largest block at the peak, in the recording in which the row is larger.";
  tables.draw(with, table, {.scrolls = true});
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
