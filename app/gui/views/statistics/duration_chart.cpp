#include "app/gui/views/statistics/duration_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using query::duration_bar;
using query::duration_histogram;
using trace::row_type;

struct timed_kind {
  row_type kind;
  const char* all;   ///< For example, "All kernels".
  const char* noun;  ///< For example, "kernel".
  query::slice_kind colour;
};
constexpr std::array<timed_kind, 7> kinds = {
    {{row_type::kernel, "All kernels", "kernel", query::slice_kind::kernel},
     {row_type::transfer, "All copies", "copy", query::slice_kind::h2d},
     {row_type::memset, "All memsets", "memset", query::slice_kind::memset},
     {row_type::api_call, "All calls", "call", query::slice_kind::api_call},
     {row_type::host_range, "All ranges", "range", query::slice_kind::range},
     {row_type::sync, "All waits", "wait", query::slice_kind::sync},
     {row_type::file_io, "All file operations", "file operation", query::slice_kind::file_io}}};

const timed_kind& about(row_type kind) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [=](const timed_kind& each) { return each.kind == kind; });
  return found == kinds.end() ? kinds[0] : *found;
}

std::string some(std::uint64_t count, const timed_kind& kind) {
  if (kind.kind == row_type::transfer && count != 1) return format_count(count) + " copies";
  return format_some(count, kind.noun);
}

constexpr float durations_height = 140;  // design pixels

}  // namespace

chart_model make_durations_model(const duration_histogram& histogram, const theme& colours) {
  chart_model model;
  if (histogram.bars.empty()) return model;
  model.x = {.unit = format::value_unit::nanoseconds,
             .logarithmic = true,
             .low = std::max(static_cast<double>(histogram.bars.front().from), 0.5),
             .high = std::max(static_cast<double>(histogram.bars.back().to), 1.0)};
  model.y.title = "events";
  model.scales = true;
  model.chosen_colour = colours.accent;
  chart_series& bars = model.series.emplace_back();
  bars.parted = true;
  bars.colour = colours.slice(about(histogram.kind).colour);
  for (std::size_t i = 0; i < histogram.bars.size(); ++i) {
    const duration_bar& each = histogram.bars[i];
    bars.points.push_back({.begin = static_cast<double>(each.from),
                           .end = static_cast<double>(each.to),
                           .high = static_cast<double>(each.count),
                           .item = static_cast<std::uint32_t>(i)});
  }
  model.marks.push_back({.at = static_cast<double>(histogram.median), .label = "median", .colour = colours.text});
  model.marks.push_back({.at = static_cast<double>(histogram.percentile99), .label = "99 %", .colour = colours.text});
  model.tip = [&histogram](const chart_pointer& pointer) {
    chart_tip tip;
    if (!pointer.series) return tip;
    const duration_bar& bar = histogram.bars[pointer.item];
    tip.say(format_time(bar.from) + " to " + format_time(bar.to));
    tip.say(some(bar.count, about(histogram.kind)) + ", " +
            format_share(static_cast<double>(bar.count) / static_cast<double>(histogram.count)));
    return tip;
  };
  return model;
}

void duration_chart::reset() { *this = {}; }

void duration_chart::draw(const view_context& with, time_range range) {
  hovered_ = false;
  follow_selection(with);
  take_step(with);
  const auto result = query_.ask(*with.state.active()->engine, {range, kind_, {}, like_, {}});
  progress_line(with, result.complete || result.failure, result.progress);
  draw_choice(with, result.failure ? nullptr : result.value.get());
  if (result.failure) return remark(with, "The selected event has no duration. Choose a kind of event above.");
  if (!result) return;
  const duration_histogram& histogram = *result.value;
  if (histogram.count == 0) {
    if (result.complete) remark(with, "No event of this kind in this range.");
    return;
  }
  draw_words(with, histogram);
  draw_bars(with, histogram, range);
}

/// If an event was selected elsewhere, shows the durations of events with its name.
void duration_chart::follow_selection(const view_context& with) {
  const selection& chosen = with.state.selected();
  const std::uint64_t now = chosen.kind == selection_kind::event ? chosen.id : 0;
  if (now == followed_) return;
  followed_ = now;
  if (now == 0 || now == own_) return;
  like_ = trace::event_id{now};
  stepping_bar_.reset();
  step_.reset();
}

void duration_chart::draw_choice(const view_context& with, const duration_histogram* shown) {
  std::string now = about(kind_).all;
  if (like_ != trace::event_id::none) {
    now = "Same name as the selected event";
    if (shown != nullptr && shown->name != trace::string_id::none) {
      now = short_name(with.text(shown->name));
    } else if (shown != nullptr && shown->kind == row_type::transfer) {
      now = "Copies, " + std::string(get_name(shown->direction));
    } else if (shown != nullptr) {
      now = about(shown->kind).all;
    }
  }
  ImGui::SetNextItemWidth(std::min(with.px(240), ImGui::GetContentRegionAvail().x));
  if (!ImGui::BeginCombo("##durations of", make_label(shortened(now, 80)).c_str())) return;
  const selection& chosen = with.state.selected();
  if (chosen.kind == selection_kind::event &&
      ImGui::Selectable("Same name as the selected event", like_ == trace::event_id{chosen.id}))
    like_ = trace::event_id{chosen.id};
  for (const timed_kind& each : kinds)
    if (ImGui::Selectable(each.all, like_ == trace::event_id::none && each.kind == kind_)) {
      kind_ = each.kind;
      like_ = {};
      stepping_bar_.reset();
      step_.reset();
    }
  ImGui::EndCombo();
}

void duration_chart::draw_words(const view_context& with, const duration_histogram& histogram) const {
  std::string words = some(histogram.count, about(histogram.kind)) + ", " + format_time(histogram.total) +
                      " in total.  Shortest " + format_time(histogram.shortest) + ", median " +
                      format_time(histogram.median) + ", 99 % within " + format_time(histogram.percentile99) +
                      ", longest " + format_time(histogram.longest) + ".";
  if (histogram.unfinished > 0)
    words += "  Not counted: " + some(histogram.unfinished, about(histogram.kind)) + " without an end.";
  remark(with, words);
}

void duration_chart::draw_bars(const view_context& with, const duration_histogram& histogram, time_range range) {
  chart_model model = make_durations_model(histogram, with.colours);
  if (model.series.empty()) return;
  for (std::size_t i = 0; i < histogram.bars.size(); ++i)
    if (steps_through(histogram.bars[i])) model.series[0].chosen = static_cast<std::uint32_t>(i);
  model.click = [&](const chart_pointer& pointer) {
    if (pointer.series) click(with, histogram.bars[pointer.item], range);
  };
  model.tip = [&, tip = model.tip](const chart_pointer& pointer) {
    chart_tip output = tip(pointer);
    if (pointer.series && histogram.bars[pointer.item].count > 0)
      output.hint(steps_through(histogram.bars[pointer.item]) ? "Click to select the next one."
                                                              : "Click to select the longest one.");
    return output;
  };
  const ImVec2 size(ImGui::GetContentRegionAvail().x, with.px(durations_height));
  hovered_ = charts_.draw(with, "##durations", model, size).hovered;
}

/// True if the events of the bar are selected one after another.
bool duration_chart::steps_through(const duration_bar& bar) const {
  return stepping_bar_ && stepping_bar_->from == bar.from && own_ != 0 && own_ == followed_;
}

void duration_chart::click(const view_context& with, const duration_bar& bar, time_range range) {
  if (bar.count == 0 || step_) return;
  if (!steps_through(bar)) {
    stepping_bar_ = query::duration_step{bar.from, bar.to, 0, {}};
    return select(with, bar.longest, bar.span);
  }
  stepping_bar_->after = own_span_.begin;
  stepping_bar_->event = trace::event_id{own_};
  step_ = query::durations_query{range, kind_, {}, like_, stepping_bar_};
}

/// Selects the event to which the user stepped, once it is known.
void duration_chart::take_step(const view_context& with) {
  if (!step_) return;
  const auto result = step_query_.ask(*with.state.active()->engine, *step_);
  if (!result.complete && !result.failure) return;
  step_.reset();
  if (result && result->next) select(with, result->next->event, result->next->span);
}

void duration_chart::select(const view_context& with, trace::event_id event, time_range span) {
  own_ = trace::raw(event);
  own_span_ = span;
  show_event(with, event);
}

}  // namespace sluice::gui
