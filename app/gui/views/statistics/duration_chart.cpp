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

constexpr float durations_height = 120;  // design pixels

}  // namespace

/// The area in which the bars are drawn. All bars have the same width, because the scale is logarithmic.
struct duration_chart::place {
  draw::rectangle area;
  const std::vector<duration_bar>& bars;
  std::uint64_t highest = 1;

  [[nodiscard]] float get_left(std::size_t bar) const {
    return area.min.x +
           area.width() * static_cast<float>(bar) / static_cast<float>(std::max<std::size_t>(bars.size(), 1));
  }
  [[nodiscard]] float to_x(time_ns duration) const {
    const auto after = std::find_if(bars.begin(), bars.end(), [=](const duration_bar& b) { return duration < b.to; });
    if (after == bars.end()) return area.max.x;
    const auto bar = static_cast<std::size_t>(after - bars.begin());
    const double share = static_cast<double>(std::max<time_ns>(duration - after->from, 0)) /
                         static_cast<double>(std::max<time_ns>(after->to - after->from, 1));
    return get_left(bar) + static_cast<float>(share) * (get_left(bar + 1) - get_left(bar));
  }
  [[nodiscard]] std::optional<std::size_t> bar_at(float x) const {
    if (bars.empty() || x < area.min.x || x >= area.max.x) return std::nullopt;
    const auto bar = static_cast<std::size_t>((x - area.min.x) / area.width() * static_cast<float>(bars.size()));
    return std::min(bar, bars.size() - 1);
  }
};

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
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 size(std::max(ImGui::GetContentRegionAvail().x, 1.0F), with.px(durations_height));
  ImGui::InvisibleButton("##durations", size);
  hovered_ = ImGui::IsItemHovered();
  const float text = with.px(small_text);
  place at{{{std::floor(corner.x), std::floor(corner.y + text + with.px(4))},
            {std::floor(corner.x + size.x), std::floor(corner.y + size.y - text - with.px(6))}},
           histogram.bars};
  if (at.area.width() < with.px(40) || at.area.height() < with.px(20)) return;
  for (const duration_bar& each : histogram.bars) at.highest = std::max(at.highest, each.count);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImU32 colour = with.colours.slice(about(histogram.kind).colour);
  for (std::size_t i = 0; i < histogram.bars.size(); ++i) {
    const duration_bar& bar = histogram.bars[i];
    if (bar.count == 0) continue;
    const double share = static_cast<double>(bar.count) / static_cast<double>(at.highest);
    const float height = std::max(with.px(3), at.area.height() * static_cast<float>(share));
    const float left = std::floor(at.get_left(i)), right = std::floor(at.get_left(i + 1));
    const bool clicked = stepping_bar_ && stepping_bar_->from == bar.from && own_ != 0 && own_ == followed_;
    list.AddRectFilled({left, at.area.max.y - height}, {std::max(right - 1, left + 1), at.area.max.y},
                       clicked ? with.colours.accent : colour);
  }
  list.AddLineH(at.area.min.x, at.area.max.x, at.area.max.y, with.colours.line);
  draw_marks(with, histogram, at);
  if (hovered_) hit(with, histogram, at, range);
}

/// Draws the scale below the bars (powers of ten), and the median and the 99th percentile above the bars.
void duration_chart::draw_marks(const view_context& with, const duration_histogram& histogram, const place& at) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float text = with.px(small_text);
  float free = at.area.min.x;
  const auto label = [&](time_ns duration) {
    const std::string words = format_time(duration);
    const float wide = small_width(with, words);
    const float x = std::floor(at.to_x(duration));
    const float left = std::clamp(x - wide * 0.5F, at.area.min.x, std::max(at.area.min.x, at.area.max.x - wide));
    if (left < free) return;
    list.AddLineV(x, at.area.max.y, at.area.max.y + with.px(3), with.colours.line);
    list.AddText(with.fonts.regular, text, {left, at.area.max.y + with.px(4)}, with.colours.muted, words.c_str());
    free = left + wide + with.px(8);
  };
  const time_ns least = histogram.bars.front().from, most = histogram.bars.back().to;
  bool any = false;
  for (time_ns power = 1; power <= most && power <= INT64_MAX / 10; power *= 10)
    if (power >= least) label(power), any = true;
  if (!any) label(least), label(most);
  float taken = -1e9F;
  for (const auto& [duration, word] :
       {std::pair(histogram.median, "median"), std::pair(histogram.percentile99, "99 %")}) {
    const float x = std::floor(at.to_x(duration));
    list.AddLineV(x, at.area.min.y - with.px(2), at.area.max.y, with.colours.text);
    const float wide = small_width(with, word);
    const bool right = x + with.px(4) + wide < at.area.max.x;
    const float left = right ? x + with.px(4) : x - with.px(4) - wide;
    if (left < taken) continue;
    list.AddText(with.fonts.regular, text, {left, at.area.min.y - text - with.px(2)}, with.colours.text, word);
    taken = left + wide + with.px(4);
  }
}

void duration_chart::hit(const view_context& with, const duration_histogram& histogram, const place& at,
                         time_range range) {
  const auto which = at.bar_at(ImGui::GetMousePos().x);
  if (!which) return;
  const duration_bar& bar = histogram.bars[*which];
  const bool again = stepping_bar_ && stepping_bar_->from == bar.from && own_ != 0 && own_ == followed_;
  if (begin_tip(with)) {
    ImGui::TextUnformatted((format_time(bar.from) + " to " + format_time(bar.to)).c_str());
    ImGui::TextUnformatted((some(bar.count, about(histogram.kind)) + ", " +
                            format_share(static_cast<double>(bar.count) / static_cast<double>(histogram.count)))
                               .c_str());
    if (bar.count > 0)
      ImGui::TextDisabled("%s", again ? "Click to select the next one." : "Click to select the longest one.");
    end_tip();
  }
  if (bar.count == 0 || !ImGui::IsMouseClicked(ImGuiMouseButton_Left) || step_) return;
  if (!again) {
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
