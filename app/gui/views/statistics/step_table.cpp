#include "app/gui/views/statistics/step_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "core/base/lower_case.hpp"
#include "core/base/signed_text.hpp"
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

cell_type get_type(metric_unit unit) {
  switch (unit) {
    case metric_unit::bytes:
      return cell_type::bytes;
    case metric_unit::time:
      return cell_type::duration;
    case metric_unit::rate:
      return cell_type::rate;
    case metric_unit::count:
      break;
  }
  return cell_type::count;
}

std::string amount(const step_metric& metric, double value) {
  return std::isnan(value) ? "-" : table_cell::make(get_type(metric.unit), value).shown();
}

/// The relative difference from the median, such as "+12 %"; empty if there is none.
std::string against_median(const step_metric& metric, double value) {
  if (std::isnan(value) || metric.median == 0 || value == metric.median) return {};
  const double share = value / metric.median - 1;
  return with_sign(share, format_share(std::fabs(share)));
}

bool is_outlier(const step_metric& metric, std::size_t step) {
  return std::binary_search(metric.outliers.begin(), metric.outliers.end(), static_cast<std::uint32_t>(step));
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

bool is_selected(const view_context& with, const index::step& step) { return with.state.range() == step.span; }

}  // namespace

chart_model make_steps_model(const step_statistics& statistics, const step_metric& metric, const theme& colours) {
  chart_model model;
  model.x = make_item_axis(statistics.steps.size(), [&statistics](std::int64_t item) {
    const auto step = static_cast<std::size_t>(item);
    return step < statistics.steps.size() ? std::to_string(statistics.steps[step].number) : std::string();
  });
  model.x.title = "step";
  model.y.unit = axis_unit(metric.unit);
  model.scales = true;
  model.chosen_colour = colours.accent;
  chart_series& bars = model.series.emplace_back();
  bars.parted = true;
  bars.colour = colours.slice(query::slice_kind::step);
  bars.points.reserve(metric.values.size());
  for (std::size_t i = 0; i < metric.values.size(); ++i) {
    const bool outlier = is_outlier(metric, i);
    bars.points.push_back({.begin = static_cast<double>(i),
                           .end = static_cast<double>(i + 1),
                           .high = std::isnan(metric.values[i]) ? 0 : metric.values[i],
                           .colour = outlier ? colours.warning : 0,
                           .item = static_cast<std::uint32_t>(i),
                           .stands_out = outlier});
  }
  model.marks.push_back({.kind = mark_kind::level, .at = metric.median, .colour = colours.muted});
  model.tip = [&](const chart_pointer& pointer) {
    chart_tip tip;
    if (!pointer.series) return tip;
    const std::size_t step = pointer.item;
    tip.say("Step " + std::to_string(statistics.steps[step].number));
    tip.say(amount(metric, metric.values[step]) + "  " + against_median(metric, metric.values[step]));
    if (is_outlier(metric, step)) tip.hint("An outlier.");
    return tip;
  };
  return model;
}

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
  chart_model model = make_steps_model(statistics, metric, with.colours);
  for (std::size_t i = 0; i < metric.values.size(); ++i)
    if (is_selected(with, statistics.steps[i])) model.series[0].chosen = static_cast<std::uint32_t>(i);
  model.click = [&](const chart_pointer& pointer) {
    if (pointer.series) go_to(with, statistics.steps[pointer.item]);
  };
  const ImVec2 size(ImGui::GetContentRegionAvail().x, with.px(step_chart_height));
  hovered_ = charts_.draw(with, "##steps", model, size).hovered || hovered_;
}

void step_table::draw_rows(const view_context& with, const step_statistics& statistics, const step_metric& metric) {
  // The metric may be the duration, which has its own column.
  const bool times = &metric == &statistics.metrics.front() && metric.label == "duration";
  const auto get_step = [&](std::size_t row) { return only_outliers_ ? std::size_t{metric.outliers[row]} : row; };
  table_of<index::step> table("Steps", only_outliers_ ? metric.outliers.size() : metric.values.size(),
                              [&](std::size_t row) -> const index::step& { return statistics.steps[get_step(row)]; });
  const auto toned = [&](table_cell cell, std::size_t row) {
    return is_outlier(metric, get_step(row)) ? std::move(cell).in(tone::warning) : cell;
  };
  table.text("step", "step", [&](const auto& each, std::size_t row) {
    const std::string number = std::to_string(each.number);
    return toned(table_cell::words(number + (is_outlier(metric, get_step(row)) ? "  outlier" : ""), number), row);
  });
  table.duration("duration", "duration_ns", [&](const auto& each, std::size_t row) {
    return toned(table_cell::duration(each.span.length()), row);
  });
  const auto add_value = [&](const char* title) {
    table.add(get_type(metric.unit), title, "value", [&, toned, get_step](std::size_t row) {
      const double value = metric.values[get_step(row)];
      return std::isnan(value) ? table_cell::none() : toned(table_cell::make(get_type(metric.unit), value), row);
    });
  };
  if (!times) add_value("value");
  table.share("of median", "share_of_median", [&](const auto&, std::size_t row) {
    const double value = metric.values[get_step(row)];
    const std::string against = against_median(metric, value);
    return against.empty() ? table_cell::none("")
                           : toned(table_cell::words(against, std::to_string(value / metric.median)), row);
  });
  if (times) add_value("");
  table.text("", "statistic", [&](const auto&) { return metric.label; });
  table.text("", "unit", [&](const auto&) { return unit_name(metric.unit); });
  table.count("", "outlier", [&](const auto&, std::size_t row) { return is_outlier(metric, get_step(row)) ? 1 : 0; });
  table.moment("", "begin_ns", [](const auto& each) { return each.span.begin; });
  table.leads_to([](const auto& each) { return row_target{.range = each.span}; });
  table.choose([&](const auto& each) { return is_selected(with, each); });
  table.on_click([&](const auto& each) { go_to(with, each); });
  const drawn_table drawn = tables_.draw(with, table,
                                         {.scrolls = true,
                                          .height = std::max(ImGui::GetContentRegionAvail().y, with.px(min_table)),
                                          .follows_end = with.state.active()->live});
  hovered_ = hovered_ || drawn.under_mouse;
}

void step_table::go_to(const view_context& with, const index::step& step) {
  if (step.span.length() <= 0) return;
  with.commands.invoke("selection.range", step.span);
  show_range(with, step.span);
}

}  // namespace sluice::gui
