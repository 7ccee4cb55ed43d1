#include "app/gui/views/statistics/step_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/shown_range.hpp"
#include "app/gui/views/widgets.hpp"
#include "core/base/lower_case.hpp"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

using query::metric_unit;
using query::step_metric;
using query::step_statistics;

constexpr float step_chart_height = 150;  // design pixels
constexpr float min_table = 120;

format::value_unit axis_unit(metric_unit unit) {
  switch (unit) {
    case metric_unit::bytes:
      return format::value_unit::bytes;
    case metric_unit::time:
      return format::value_unit::nanoseconds;
    case metric_unit::rate:
      return format::value_unit::rate;
    case metric_unit::count:
      break;
  }
  return format::value_unit::none;
}

std::string amount(const step_metric& metric, double value) {
  if (std::isnan(value)) return "-";
  switch (metric.unit) {
    case metric_unit::bytes:
      return format_bytes(value);
    case metric_unit::time:
      return format_time(static_cast<time_ns>(value));
    case metric_unit::rate:
      return format_rate(value);
    case metric_unit::count:
      break;
  }
  return format_count(static_cast<std::uint64_t>(value));
}

/// The relative difference from the median, such as "+12 %"; empty if there is none.
std::string against_median(const step_metric& metric, double value) {
  if (std::isnan(value) || metric.median == 0 || value == metric.median) return {};
  const double share = value / metric.median - 1;
  const std::string words = format_share(std::fabs(share));
  return words.starts_with('<') ? words : (share > 0 ? "+" : "-") + words;
}

bool is_outlier(const step_metric& metric, std::size_t step) {
  return std::binary_search(metric.outliers.begin(), metric.outliers.end(), static_cast<std::uint32_t>(step));
}

/// Formats a value in the unit of its metric. CSV has a separate column for the unit.
table_cell make_cell(const step_metric& metric, double value) {
  if (std::isnan(value)) return table_cell::none();
  switch (metric.unit) {
    case metric_unit::bytes:
      return table_cell::bytes(value);
    case metric_unit::time:
      return table_cell::duration(static_cast<time_ns>(value));
    case metric_unit::rate:
      return table_cell::rate(value);
    case metric_unit::count:
      break;
  }
  return table_cell::count(static_cast<std::uint64_t>(value));
}

const char* unit_name(metric_unit unit) {
  switch (unit) {
    case metric_unit::bytes:
      return "bytes";
    case metric_unit::time:
      return "ns";
    case metric_unit::rate:
      return "bytes_per_second";
    case metric_unit::count:
      break;
  }
  return "count";
}

constexpr std::array<table_column, 8> step_columns = {{{"step", "step"},
                                                       {"duration", "duration_ns"},
                                                       {"value", "value"},
                                                       {"of median", "share_of_median"},
                                                       {nullptr, "statistic"},
                                                       {nullptr, "unit"},
                                                       {nullptr, "outlier"},
                                                       {nullptr, "begin_ns"}}};

bool is_selected(const view_context& with, const index::step& step) { return with.state.range() == step.span; }

}  // namespace

void step_table::reset() { *this = {}; }

void step_table::draw(const view_context& with) {
  hovered_ = false;
  const auto result = query_.ask(*with.state.active()->engine, {process_});
  progress_line(with, result.complete || result.failure, result.progress);
  if (result.failure) return remark(with, "The steps could not be computed: " + result.failure->message);
  if (!result) return ImGui::TextDisabled("Measuring each step...");
  const step_statistics& statistics = *result.value;
  const step_metric* const metric = find_shown(statistics);
  if (metric == nullptr) {
    if (result.complete) empty_state(with, icon::chart, "No steps", "The recording does not mark where steps begin.");
    return;
  }
  draw_choices(with, statistics);
  std::string words = format_some(statistics.step_count, "step");
  if (statistics.source == index::step_source::pattern) words += " (inferred)";
  if (statistics.step_count > statistics.steps.size())
    words += ", only the first " + format_count(statistics.steps.size()) + " are shown";
  words +=
      ".  Median " + amount(*metric, metric->median) + ", " + format_some(metric->outliers.size(), "outlier") + ".";
  remark(with, words);
  glossary_tip(with, "outlier");
  draw_chart(with, statistics, *metric);
  if (!metric->outliers.empty()) {
    check_box(with, "only outliers", &only_outliers_);
  } else {
    only_outliers_ = false;
  }
  draw_rows(with, statistics, *metric);
}

const step_metric* step_table::find_shown(const step_statistics& statistics) const {
  const auto found = std::find_if(statistics.metrics.begin(), statistics.metrics.end(),
                                  [this](const step_metric& each) { return each.label == label_; });
  if (found != statistics.metrics.end()) return &*found;
  return statistics.metrics.empty() ? nullptr : &statistics.metrics.front();
}

void step_table::draw_choices(const view_context& with, const step_statistics& statistics) {
  const step_metric& now = *find_shown(statistics);
  if (statistics.processes.size() > 1) {
    ImGui::SetNextItemWidth(std::min(with.px(200), ImGui::GetContentRegionAvail().x));
    const auto shown = std::find_if(statistics.processes.begin(), statistics.processes.end(),
                                    [&](const auto& each) { return each.process == statistics.process; });
    if (ImGui::BeginCombo("##process", shown == statistics.processes.end() ? "" : make_label(shown->label).c_str())) {
      for (const query::stepping_process& each : statistics.processes) {
        ImGui::PushID(static_cast<int>(trace::raw(each.process)));
        if (ImGui::Selectable(make_label(each.label).c_str(), each.process == statistics.process))
          process_ = each.process;
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
  }
  ImGui::SetNextItemWidth(std::min(with.px(300), ImGui::GetContentRegionAvail().x));
  if (!ImGui::BeginCombo("##figure", make_label(now.label).c_str(), ImGuiComboFlags_HeightLarge)) return;
  if (ImGui::IsWindowAppearing()) {
    filter_.clear();
    ImGui::SetKeyboardFocusHere();
  }
  ImGui::SetNextItemWidth(-FLT_MIN);
  ImGui::InputTextWithHint("##filter", "Find a statistic", &filter_);
  const std::string wanted = lower_case(filter_);
  for (std::size_t i = 0; i < statistics.metrics.size(); ++i) {
    const step_metric& each = statistics.metrics[i];
    if (lower_case(each.label).find(wanted) == std::string::npos) continue;
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(make_label(each.label).c_str(), &each == &now)) label_ = each.label;
    if (!each.outliers.empty()) {
      ImGui::SameLine(0, with.px(10));
      ImGui::TextDisabled("%s", format_some(each.outliers.size(), "outlier").c_str());
    }
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

void step_table::draw_chart(const view_context& with, const step_statistics& statistics, const step_metric& metric) {
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 size(std::max(ImGui::GetContentRegionAvail().x, 1.0F), with.px(step_chart_height));
  ImGui::InvisibleButton("##steps", size);
  const bool over = ImGui::IsItemHovered();
  panel_context_menu(with);
  hovered_ = hovered_ || over;
  double highest = 0;
  for (const double value : metric.values) highest = std::isnan(value) ? highest : std::max(highest, value);
  const auto count = static_cast<time_ns>(std::max<std::size_t>(statistics.steps.size(), 1));
  const time_chart at = begin_value_chart(with, corner, size, {0, count}, highest, axis_unit(metric.unit));
  if (!at.fits(with)) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  // Where several steps share a pixel, draw the highest of them, but prefer outliers.
  float drawn_to = at.area.min.x;
  double most = 0;
  bool outlier = false, selected = false;
  for (std::size_t i = 0; i < metric.values.size(); ++i) {
    if (!std::isnan(metric.values[i])) most = std::max(most, metric.values[i]);
    outlier = outlier || is_outlier(metric, i);
    selected = selected || is_selected(with, statistics.steps[i]);
    const float right = std::floor(at.to_x(static_cast<time_ns>(i + 1)));
    if (right < drawn_to + 1 && i + 1 < metric.values.size()) continue;
    const float gap = right - drawn_to > with.px(4) ? 1.0F : 0.0F;
    const ImU32 colour = selected  ? with.colours.accent
                         : outlier ? with.colours.warning
                                   : with.colours.slice(query::slice_kind::step);
    list.AddRectFilled({drawn_to, std::floor(at.to_y(most))}, {std::max(right - gap, drawn_to + 1), at.area.max.y},
                       colour);
    drawn_to = right;
    most = 0;
    outlier = selected = false;
  }
  const float median = std::floor(at.to_y(metric.median));
  list.AddLineH(at.area.min.x, at.area.max.x, median, with.colours.muted);
  // Draw as many step numbers below the bars as fit.
  float free = at.area.min.x;
  for (std::size_t i = 0; i < statistics.steps.size(); ++i) {
    const float x = at.to_x(static_cast<time_ns>(i));
    if (x < free) continue;
    const std::string number = std::to_string(statistics.steps[i].number);
    const float wide = small_width(with, number);
    if (x + wide > at.area.max.x) break;
    list.AddText(with.fonts.regular, with.px(small_text), {std::floor(x), at.area.max.y + with.px(4)},
                 with.colours.muted, number.c_str());
    free = x + std::max(wide + with.px(12), with.px(60));
  }
  if (!over || !at.area.contains(ImGui::GetMousePos())) return;
  const auto step = static_cast<std::size_t>(std::clamp<time_ns>(at.time_at(ImGui::GetMousePos().x), 0, count - 1));
  if (step >= metric.values.size()) return;
  if (begin_tip(with)) {
    ImGui::TextUnformatted(("Step " + std::to_string(statistics.steps[step].number)).c_str());
    ImGui::TextUnformatted(
        (amount(metric, metric.values[step]) + "  " + against_median(metric, metric.values[step])).c_str());
    if (is_outlier(metric, step)) ImGui::TextDisabled("An outlier.");
    end_tip();
  }
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) go_to(with, statistics.steps[step]);
}

void step_table::draw_rows(const view_context& with, const step_statistics& statistics, const step_metric& metric) {
  const float height = std::max(ImGui::GetContentRegionAvail().y, with.px(min_table));
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY;
  const bool times = &metric == &statistics.metrics.front() && metric.label == "duration";
  const int columns = times ? 3 : 4;
  if (!ImGui::BeginTable("steps", columns, flags, {0, height})) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("step", ImGuiTableColumnFlags_WidthStretch);
  for (int i = 1; i < columns; ++i) ImGui::TableSetupColumn("metric", ImGuiTableColumnFlags_WidthFixed);
  if (times) {
    metric_heads({"step", "duration", "of median"});
  } else {
    metric_heads({"step", "duration", "value", "of median"});
  }
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(only_outliers_ ? metric.outliers.size() : metric.values.size()));
  const auto get_step = [&](std::size_t row) { return only_outliers_ ? std::size_t{metric.outliers[row]} : row; };
  table_content content{"Steps", step_columns, only_outliers_ ? metric.outliers.size() : metric.values.size()};
  content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
    const std::size_t step = get_step(row);
    const double value = metric.values[step];
    const bool stands_out = is_outlier(metric, step);
    const std::string number = std::to_string(statistics.steps[step].number);
    to.push_back(table_cell::words(number + (stands_out ? "  outlier" : ""), number));
    to.push_back(table_cell::duration(statistics.steps[step].span.length()));
    to.push_back(make_cell(metric, value));
    const std::string against = against_median(metric, value);
    to.push_back(against.empty() ? table_cell::none("")
                                 : table_cell::words(against, std::to_string(value / metric.median)));
    to.push_back(table_cell::text(metric.label));
    to.push_back(table_cell::text(unit_name(metric.unit)));
    to.push_back(table_cell::count(stands_out ? 1 : 0));
    to.push_back(table_cell::moment(statistics.steps[step].span.begin));
  };
  content.target = [&](std::size_t row) {
    row_target target;
    target.range = statistics.steps[get_step(row)].span;
    return target;
  };
  while (clipper.Step())
    for (int row = clipper.DisplayStart; row < clipper.DisplayEnd; ++row) {
      const auto at = static_cast<std::size_t>(row);
      draw_row(with, content, at, statistics.steps[get_step(at)], is_outlier(metric, get_step(at)), times);
    }
  hovered_ = hovered_ || ImGui::IsWindowHovered();
  // If the last step of a live recording is visible, scroll to new steps as they arrive.
  const bool more = content.rows > rows_drawn_;
  if (more && rows_drawn_ > 0 && with.state.active()->live && at_end_) ImGui::SetScrollHereY(1);
  if (!more) at_end_ = ImGui::GetScrollY() >= ImGui::GetScrollMaxY();
  rows_drawn_ = content.rows;
  ImGui::EndTable();
}

void step_table::draw_row(const view_context& with, const table_content& content, std::size_t row,
                          const index::step& step, bool stands_out, bool times) {
  ImGui::PushID(static_cast<int>(step.number));
  if (rows_.begin_row(with, content, row, is_selected(with, step))) go_to(with, step);
  if (stands_out) ImGui::PushStyleColor(ImGuiCol_Text, with.colours.warning);
  const std::vector<table_cell>& cells = rows_.cells(content, row);
  first_cell(cells[0].shown());
  for (std::size_t i = times ? 2 : 1; i < 4; ++i) metric_cell(cells[i].shown());
  if (stands_out) ImGui::PopStyleColor();
  ImGui::PopID();
}

void step_table::go_to(const view_context& with, const index::step& step) {
  if (step.span.length() <= 0) return;
  with.commands.invoke("selection.range", step.span);
  show_range(with, step.span);
}

}  // namespace sluice::gui
