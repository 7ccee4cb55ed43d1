#include "app/gui/views/compare/comparison_picture.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr std::size_t pictured_steps = 3;
constexpr float names_width = 104;  // design pixels
constexpr float strip_height = 18;

using step_rows = std::vector<metrics::step_metrics>;

/// Takes `pictured_steps` consecutive steps from `from` on.
pictured_side take_steps(const step_rows& steps, std::size_t from) {
  pictured_side output;
  for (std::size_t i = from; i < std::min(steps.size(), from + pictured_steps); ++i)
    output.steps.push_back({steps[i].span, steps[i].number, steps[i].event});
  output.range = {output.steps.front().span.begin, output.steps.back().span.end};
  return output;
}

std::size_t find_middle(std::size_t count) { return count <= pictured_steps ? 0 : (count - pictured_steps) / 2; }

/// The positions in both lists of the same `pictured_steps` numbers; those in the middle of all such positions.
std::optional<std::array<std::size_t, 2>> find_common(const step_rows& before, const step_rows& after) {
  std::vector<std::array<std::size_t, 2>> found;
  for (std::size_t i = 0, j = 0; i + pictured_steps <= before.size() && j + pictured_steps <= after.size();) {
    if (before[i].number < after[j].number) {
      ++i;
    } else if (after[j].number < before[i].number) {
      ++j;
    } else {
      bool follow = true;
      for (std::size_t k = 1; k < pictured_steps; ++k)
        follow = follow && before[i + k].number == before[i].number + static_cast<std::int64_t>(k) &&
                 after[j + k].number == before[i].number + static_cast<std::int64_t>(k);
      if (follow) found.push_back({i, j});
      ++i, ++j;
    }
  }
  if (found.empty()) return std::nullopt;
  return found[found.size() / 2];
}

const query::track* find_memory(const query::track_list& list, trace::device_id device) {
  for (const query::track& each : list.tracks)
    if (each.kind == query::track_kind::memory && each.device == device) return &each;
  return nullptr;
}

/// The bytes in use of one memory in each bin.
std::vector<double> sum_bands(const query::series& series, const metrics::memory_peak& peak) {
  std::vector<double> sums;
  for (const query::band& band : series.bands) {
    if (band.role != query::band_role::used || band.layer != peak.layer || band.kind != peak.kind) continue;
    sums.resize(std::max(sums.size(), band.bins.size()));
    for (std::size_t i = 0; i < band.bins.size(); ++i) sums[i] += band.bins[i].maximum;
  }
  return sums;
}

/// A round number of ns between two labels of the axis, for at most `most` labels.
double choose_tick(double length, double most) {
  double tick = 1;
  while (length / tick > most) {
    for (const double factor : {2.0, 2.5, 2.0}) {
      tick *= factor;
      if (length / tick <= most) break;
    }
  }
  return tick;
}

void draw_small(ImDrawList& list, ImVec2 at, float right, ImU32 colour, const std::string& text) {
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::RenderTextEllipsis(&list, at, {right, at.y + size.y}, right, text.c_str(), text.c_str() + text.size(), &size);
  ImGui::PopStyleColor();
}

/// Draws text in the middle of a box, if it fits.
void draw_in_box(ImDrawList& list, ImVec2 begin, ImVec2 end, ImU32 colour, const std::string& text) {
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  if (size.x + 4 > end.x - begin.x) return;
  list.AddText({std::floor((begin.x + end.x - size.x) * 0.5F), std::floor((begin.y + end.y - size.y) * 0.5F)}, colour,
               text.c_str());
}

const step_rows* find_step_rows(const metrics::report& subject) {
  for (const metrics::step_summary& each : subject.steps)
    if (each.count > 0 && each.median_duration == subject.verdict.step) return &each.steps;
  return nullptr;
}

}  // namespace

std::array<pictured_side, 2> choose_pictured(const std::array<const step_rows*, 2>& steps,
                                             const std::array<time_range, 2>& openings) {
  if (steps[0] == nullptr || steps[1] == nullptr || steps[0]->empty() || steps[1]->empty())
    return {pictured_side{openings[0], {}}, pictured_side{openings[1], {}}};
  if (const auto common = find_common(*steps[0], *steps[1]))
    return {take_steps(*steps[0], (*common)[0]), take_steps(*steps[1], (*common)[1])};
  return {take_steps(*steps[0], find_middle(steps[0]->size())), take_steps(*steps[1], find_middle(steps[1]->size()))};
}

void comparison_picture::ask(const std::array<side, 2>& sides, std::uint32_t width) {
  shown_ = choose_pictured({find_step_rows(*sides[0].report), find_step_rows(*sides[1].report)},
                           {sides[0].recording->opening, sides[1].recording->opening});
  waiting_ = false;
  top_ = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    query::engine& engine = *sides[i].recording->engine;
    const time_range range = shown_[i].range;
    const metrics::memory_peak* peak = metrics::main_peak(*sides[i].report);
    const auto tracks = tracks_[i].ask(engine, {});
    waiting_ = waiting_ || (!tracks.complete && !tracks.failure);
    const query::track* track = tracks && peak != nullptr ? find_memory(*tracks.value, peak->device) : nullptr;
    series_[i] = nullptr;
    if (track != nullptr) {
      const auto result = series_queries_[i].ask(engine, {track->id, range, width});
      waiting_ = waiting_ || (!result.complete && !result.failure);
      series_[i] = result.value;
    }
    bytes_[i] = series_[i] == nullptr ? std::vector<double>() : sum_bands(*series_[i], *peak);
    for (const double each : bytes_[i]) top_ = std::max(top_, each);
    const auto lanes = lanes_queries_[i].ask(engine, {range, width});
    waiting_ = waiting_ || (!lanes.complete && !lanes.failure);
    lanes_[i] = lanes.value;
  }
}

void comparison_picture::draw(view_context& with, const std::array<side, 2>& sides, ImVec2 size) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float names = std::min(with.px(names_width), size.x * 0.3F);
  const float left = at.x + names, right = at.x + size.x - with.px(6);
  if (right - left < with.px(40) || size.y < with.px(120)) return;
  ask(sides, static_cast<std::uint32_t>(right - left));
  const auto length = static_cast<double>(std::max({shown_[0].range.length(), shown_[1].range.length(), time_ns{1}}));
  ImGui::PushFont(nullptr, small_text);
  const float line = ImGui::GetTextLineHeight();
  const bool steps = !shown_[0].steps.empty();
  const std::size_t count = std::max(shown_[0].steps.size(), shown_[1].steps.size());
  const std::string title = steps && count > 1
                                ? std::to_string(count) + " steps of each, aligned at the start of a step"
                            : steps ? "One step of each"
                                    : "The first range shown of each, aligned at its start";
  draw_small(*ImGui::GetWindowDrawList(), at, at.x + size.x, with.colours.muted, title + "; one scale");
  const float top = at.y + line + with.px(6), bottom = at.y + size.y - line - with.px(6);
  const float each = (bottom - top) / 2, strip = std::min(with.px(strip_height), each * 0.22F);
  std::array<rows, 2> places;
  for (std::size_t i = 0; i < 2; ++i) {
    const float y = std::floor(top + static_cast<float>(i) * each);
    const float end = std::floor(y + each - with.px(10));
    places[i] = {left,
                 right,
                 y,
                 y + strip + with.px(4),
                 end - strip,
                 end,
                 static_cast<double>(right - left) / length,
                 shown_[i].range.begin};
    if (!steps) places[i].memory = y;
  }
  draw_axis(with, places[0], length, top, bottom);
  for (std::size_t i = 0; i < 2; ++i) {
    draw_names(with, sides[i], i, places[i], at.x);
    draw_side(with, sides[i], i, places[i]);
  }
  ImGui::PopFont();
  ImGui::InvisibleButton("picture", size);
  if (!ImGui::IsItemHovered() || !with.tips) return;
  const ImVec2 mouse = ImGui::GetMousePos();
  for (std::size_t i = 0; i < 2; ++i)
    if (mouse.x >= left && mouse.x < right && mouse.y >= places[i].steps && mouse.y < places[i].bottom)
      draw_tip(with, i, places[i]);
}

void comparison_picture::draw_names(const view_context& with, const side& of, std::size_t at, const rows& where,
                                    float begin) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float line = ImGui::GetTextLineHeight();
  const float end = where.left - with.px(8);
  const float y = where.steps + with.px(1);
  draw_small(list, {begin, y}, end, with.colours.text, (at == 0 ? "before: " : "after: ") + of.name);
  if (of.report->verdict.step > 0 && y + 2 * line < where.work)
    draw_small(list, {begin, y + line + with.px(2)}, end, with.colours.muted,
               format_time(of.report->verdict.step) + " a step");
  const auto put_right = [&](float top, const char* text) {
    const float width = ImGui::CalcTextSize(text).x;
    draw_small(list, {std::max(begin, end - width), top}, end + 1, with.colours.muted, text);
  };
  const float middle = (where.memory + where.work - line) * 0.5F;
  if (middle > y + 2 * line + with.px(2)) put_right(std::floor(middle), "memory");
  put_right(std::floor((where.work + where.bottom - line) * 0.5F), "GPU");
}

void comparison_picture::draw_side(const view_context& with, const side& of, std::size_t at, const rows& where) {
  draw_steps(with, at, where);
  draw_memory(with, at, where);
  draw_work(with, of, at, where);
}

void comparison_picture::draw_steps(const view_context& with, std::size_t at, const rows& where) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (const index::step& each : shown_[at].steps) {
    const ImVec2 begin(where.to_x(each.span.begin), where.steps);
    const ImVec2 end(std::max(where.to_x(each.span.end) - 1, begin.x + 1), where.memory - with.px(4));
    list.AddRectFilled(begin, end, with.colours.hover);
    const std::string number = std::to_string(each.number);
    const bool fits = ImGui::CalcTextSize(("step " + number).c_str()).x + 8 < end.x - begin.x;
    draw_in_box(list, begin, end, with.colours.text, fits ? "step " + number : number);
  }
}

void comparison_picture::draw_memory(const view_context& with, std::size_t at, const rows& where) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float bottom = where.work - with.px(4);
  const std::vector<double>& bytes = bytes_[at];
  if (series_[at] == nullptr || bytes.empty()) {
    if (!waiting_)
      draw_small(list,
                 {where.left + with.px(6), std::floor((where.memory + bottom - ImGui::GetTextLineHeight()) * 0.5F)},
                 where.right, with.colours.muted, "memory not recorded");
    return;
  }
  const time_range known = series_[at]->range;
  const double bins_per_ns =
      static_cast<double>(bytes.size()) / static_cast<double>(std::max<time_ns>(known.length(), 1));
  const float end = std::min(where.to_x(shown_[at].range.end), where.right);
  double most = 0;
  for (float x = where.left; x < end; ++x) {
    const double from =
        static_cast<double>(where.begin - known.begin) + static_cast<double>(x - where.left) / where.pixels_per_ns;
    const double to = from + 1 / where.pixels_per_ns;
    const auto last = static_cast<double>(bytes.size() - 1);
    const auto first_bin = static_cast<std::size_t>(std::clamp(from * bins_per_ns, 0.0, last));
    const auto last_bin =
        static_cast<std::size_t>(std::clamp(to * bins_per_ns - 1e-9, static_cast<double>(first_bin), last));
    double value = 0;
    for (std::size_t i = first_bin; i <= last_bin; ++i) value = std::max(value, bytes[i]);
    most = std::max(most, value);
    const float height = (bottom - where.memory) * static_cast<float>(value / top_);
    list.AddRectFilled({x, bottom - height}, {std::min(x + 1, end), bottom},
                       with.colours.layers[static_cast<std::size_t>(trace::layer::framework)]);
  }
  const std::string text = "peak here " + format_bytes(most);
  const float width = ImGui::CalcTextSize(text.c_str()).x;
  const float height = (bottom - where.memory) * static_cast<float>(most / top_);
  const ImVec2 place(where.left + with.px(6), bottom - height + with.px(2));
  list.AddRectFilled({place.x - with.px(3), place.y},
                     {place.x + width + with.px(3), place.y + ImGui::GetTextLineHeight()}, with.colours.background);
  list.AddText(place, with.colours.text, text.c_str());
}

const query::idle_lane* comparison_picture::find_lane(const side& of, std::size_t at) const {
  if (lanes_[at] == nullptr) return nullptr;
  const metrics::memory_peak* peak = metrics::main_peak(*of.report);
  for (const query::idle_lane& each : lanes_[at]->lanes)
    if (peak != nullptr && each.device == peak->device) return &each;
  return lanes_[at]->lanes.empty() ? nullptr : &lanes_[at]->lanes.front();
}

void comparison_picture::draw_work(const view_context& with, const side& of, std::size_t at, const rows& where) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto& devices = of.report->whole.devices;
  const query::idle_lane* lane = find_lane(of, at);
  const bool known = !of.report->verdict.devices.empty() && !devices.empty();
  const float line = ImGui::GetTextLineHeight();
  const float y = std::floor((where.work + where.bottom - line) * 0.5F);
  if (!known || (lanes_[at] != nullptr && lanes_[at]->too_long)) {
    draw_small(list, {where.left + with.px(6), y}, where.right, with.colours.muted,
               known ? "too long to show" : "kernel times not recorded");
    return;
  }
  const metrics::device_activity* device = &devices.front();
  for (const metrics::device_activity& each : devices)
    if (lane != nullptr && each.device == lane->device) device = &each;
  const time_range range = shown_[at].range;
  const time_ns first = std::max(range.begin, device->first), last = std::min(range.end, device->last);
  if (first >= last) return;
  list.AddRectFilled({where.to_x(first), where.work}, {where.to_x(last), where.bottom},
                     with.colours.slice(query::slice_kind::kernel));
  if (lane == nullptr) return;
  for (const query::drawn_gap& gap : lane->gaps) {
    const time_ns begin = std::max(gap.span.begin, range.begin), end = std::min(gap.span.end, range.end);
    if (begin >= end) continue;
    // A gap that stands for several is as high as the share of its time that is idle.
    const double share = static_cast<double>(gap.idle) / static_cast<double>(std::max<time_ns>(gap.span.length(), 1));
    const float height = (where.bottom - where.work) * static_cast<float>(std::clamp(share, 0.0, 1.0));
    const ImVec2 from(where.to_x(begin), where.bottom - height), to(where.to_x(end), where.bottom);
    const ImU32 colour = with.colours.of(gap.cause);
    list.AddRectFilled(from, {std::max(to.x, from.x + 1), to.y}, colour);
    const std::string words(metrics::get_words(gap.cause));
    const std::string time = format_time(gap.length);
    const bool both = ImGui::CalcTextSize((words + " " + time).c_str()).x + 8 < to.x - from.x;
    if (gap.parts == 1) draw_in_box(list, from, to, with.colours.text_on(colour), both ? words + " " + time : time);
  }
}

void comparison_picture::draw_axis(const view_context& with, const rows& where, double length, float top,
                                   float bottom) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const double tick = choose_tick(length, std::max(1.0, static_cast<double>((where.right - where.left) / with.px(90))));
  for (double time = 0; time <= length; time += tick) {
    const float x = std::floor(where.left + static_cast<float>(time * where.pixels_per_ns));
    list.AddLineV(x, top, bottom, with.colours.grid);
    const std::string text = time == 0 ? "0" : format::axis_value(time, format::value_unit::nanoseconds);
    const float width = ImGui::CalcTextSize(text.c_str()).x;
    if (x + width * 0.5F < where.right + with.px(6))
      list.AddText({std::floor(x - width * 0.5F), bottom + with.px(2)}, with.colours.muted, text.c_str());
  }
}

void comparison_picture::draw_tip(const view_context& with, std::size_t at, const rows& where) const {
  const time_ns time = where.begin + static_cast<time_ns>(static_cast<double>(ImGui::GetMousePos().x - where.left) /
                                                          where.pixels_per_ns);
  if (time >= shown_[at].range.end || !begin_tip(with)) return;
  const float column = with.px(80);
  tip_field(with, "after", format_time(time - where.begin), column);
  tip_field(with, "time", format_moment(time), column);
  for (const index::step& each : shown_[at].steps)
    if (each.span.holds(time))
      tip_field(with, "step", std::to_string(each.number) + ", " + format_time(each.span.length()), column);
  if (series_[at] != nullptr && !bytes_[at].empty() && series_[at]->range.length() > 0) {
    const double share =
        static_cast<double>(time - series_[at]->range.begin) / static_cast<double>(series_[at]->range.length());
    const double bin = std::clamp(share, 0.0, 1.0) * static_cast<double>(bytes_[at].size() - 1);
    tip_field(with, "memory", format_bytes(bytes_[at][static_cast<std::size_t>(bin)]), column);
  }
  if (lanes_[at] != nullptr && !lanes_[at]->lanes.empty())
    for (const query::drawn_gap& gap : lanes_[at]->lanes.front().gaps)
      if (gap.span.holds(time))
        tip_field(with, "idle", std::string(metrics::get_words(gap.cause)) + ", " + format_time(gap.length), column);
  end_tip();
}

}  // namespace sluice::gui
