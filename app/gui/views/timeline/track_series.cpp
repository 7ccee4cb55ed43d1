#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "app/gui/views/timeline/series_lanes.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr float axis_width = 62;  // design pixels on the right of the header, for the axis labels

format::value_unit unit_of(const view_context& with, const query::track& what) {
  switch (what.kind) {
    case query::track_kind::memory:
    case query::track_kind::pool:
      return format::value_unit::bytes;
    case query::track_kind::bandwidth:
      return format::value_unit::rate;
    default:
      break;
  }
  const document* shown = with.state.active();
  const trace::counter_row* row =
      shown != nullptr && shown->engine ? shown->engine->snapshot()->tables().counters.find(what.counter) : nullptr;
  if (row == nullptr) return format::value_unit::none;
  switch (row->unit) {
    case trace::counter_unit::bytes:
      return format::value_unit::bytes;
    case trace::counter_unit::bytes_per_second:
      return format::value_unit::rate;
    case trace::counter_unit::nanoseconds:
      return format::value_unit::nanoseconds;
    case trace::counter_unit::fraction:
      return format::value_unit::fraction;
    case trace::counter_unit::none:
      break;
  }
  return format::value_unit::none;
}

/// A short label for the legend; the tooltip has the full one.
std::string_view brief(const query::band& band) {
  if (band.role == query::band_role::untracked) return "Untracked";
  if (band.role == query::band_role::recorder) return "Profiler overhead";
  return band.label;
}

class series_row final : public track_row {
 public:
  [[nodiscard]] float height(const view_context& with, const query::track& what) const override {
    float height = with.px(padding);
    for (const series_lane& lane : lanes_) height += with.px(lane.height);
    return lanes_.empty() ? with.px(what.kind == query::track_kind::memory ? 106 : 72) : height;
  }

  row_hit draw(view_context& with, query::engine& from, const query::track& what, const row_frame& where,
               ImDrawList& list) override {
    const auto answer =
        question_.ask(from, {what.id, where.visible, static_cast<std::uint32_t>(std::max(1.0F, where.area.width())),
                             with.state.memory_by_category});
    const float below = draw_row_label(with, list, where, what, with.px(axis_width));
    if (!answer) return {};
    if (answer.value != shown_ || answer.complete != complete_ || theme_ != with.colours.kind) {
      shown_ = answer.value;
      complete_ = answer.complete;
      theme_ = with.colours.kind;
      unit_ = unit_of(with, what);
      lay_out(with, what);
    }
    draw::rectangle chart = where.area;
    chart.max.y = chart.min.y + with.px(padding);
    for (const series_lane& lane : lanes_) {
      chart.min.y = chart.max.y;
      chart.max.y += with.px(lane.height);
      const draw::rectangle inner{chart.min, {chart.max.x, chart.max.y - 1}};
      if (inner.max.y > where.area.max.y + 1) break;  // more lanes than the row has space for, until the next frame
      draw_axis(with, where, inner, lane, list);
      with.boxes.add(list, lane.batch, inner, where.visible, static_cast<float>(lane.axis.top),
                     with.colours.background);
      if (lane.limits) draw_limits(with, inner, lane, list);
    }
    draw_legend(with, where.header, below, list);
    if (where.hovered) tip(with, what, where);
    return {};
  }

 private:
  static constexpr float padding = 6;

  void lay_out(const view_context& with, const query::track& what) {
    std::vector<series_lane> fresh = lanes_of(*shown_, what.kind);
    for (std::size_t i = 0; i < fresh.size() && i < lanes_.size(); ++i) fresh[i].batch = std::move(lanes_[i].batch);
    lanes_ = std::move(fresh);
    for (series_lane& lane : lanes_) {
      lane.axis = axis_for(with, what, lane);
      fill(lane, *shown_, what.kind, with.colours);
    }
  }

  [[nodiscard]] format::value_axis axis_for(const view_context& with, const query::track& what,
                                            const series_lane& lane) {
    const double height = static_cast<double>(with.px(lane.height));
    // Space above the highest limit for its name.
    const double room = height / std::max(height - static_cast<double>(with.px(20)), height * 0.5);
    double highest = shown_->maximum;
    if (what.kind == query::track_kind::memory && !lane.limits) {
      // The series' maximum includes untracked memory. The first view shows everything, so this is its highest value.
      // An incomplete answer may contain allocations without their frees.
      highest = std::max(tracked_highest_, highest_of(lane, *shown_, what.kind));
      if (complete_) tracked_highest_ = highest;
    }
    double top = highest * 1.08;
    for (const query::limit_line& limit : shown_->limits)
      // Bandwidth is compared to the link's peak, so always show that. Memory size only if a fair part is used.
      if (lane.limits && (what.kind == query::track_kind::bandwidth || limit.value < highest * 4))
        top = std::max(top, limit.value * room);
    if (unit_ == format::value_unit::fraction) top = std::max(top, 1.0);
    const bool tall = what.kind == query::track_kind::memory && lane.caption == nullptr;
    format::value_axis axis =
        format::value_ticks(top, unit_, tall || what.kind == query::track_kind::bandwidth ? 3 : 2);
    // The space above a link's peak is for its name; a label there would look like a reachable rate.
    if (what.kind == query::track_kind::bandwidth && top > highest * 1.08)
      std::erase_if(axis.ticks, [&](const format::tick& tick) { return tick.value > top / room * 1.0001; });
    return axis;
  }

  static float y_of(const draw::rectangle& chart, const series_lane& lane, double value) {
    return std::floor(chart.max.y - static_cast<float>(value / lane.axis.top) * chart.height() + 0.5F);
  }

  static void draw_axis(const view_context& with, const row_frame& where, const draw::rectangle& chart,
                        const series_lane& lane, ImDrawList& list) {
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    float lowest = chart.max.y + std::floor(line * 0.5F);  // labels are drawn upwards; none may touch the one below
    if (lane.caption != nullptr) {
      list.AddLineH(where.header.min.x, chart.max.x, chart.min.y, with.colours.grid);
      list.AddText({where.header.min.x + with.px(12), std::floor((chart.min.y + chart.max.y - line) * 0.5F)},
                   with.colours.muted, lane.caption);
    }
    for (const format::tick& tick : lane.axis.ticks) {
      const float y = y_of(chart, lane, tick.value);
      list.AddLineH(chart.min.x, chart.max.x, y, with.colours.grid);
      const float top = y - std::floor(line * 0.5F);
      if (top + line > lowest || top < chart.min.y - with.px(padding)) continue;
      const ImVec2 size = ImGui::CalcTextSize(tick.label.c_str());
      list.AddText({where.header.max.x - size.x - with.px(6), top}, with.colours.muted, tick.label.c_str());
      lowest = top - 1;
    }
    ImGui::PopFont();
  }

  /// Draws the limit lines of a lane, and their names in one row above the highest.
  void draw_limits(const view_context& with, const draw::rectangle& chart, const series_lane& lane,
                   ImDrawList& list) const {
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    std::string names;
    bool outside = false;
    float highest = chart.max.y;
    for (const query::limit_line& limit : shown_->limits) {
      if (limit.direction != trace::direction::unknown && lane.direction != trace::direction::unknown &&
          limit.direction != lane.direction)
        continue;
      names += (names.empty() ? "" : ",  ") + limit.label;
      if (limit.value > lane.axis.top) {
        outside = true;
        highest = chart.min.y + line;
      } else {
        const float y = y_of(chart, lane, limit.value);
        list.AddLineH(chart.min.x, chart.max.x, y, with.colours.limit);
        highest = std::min(highest, y);
      }
    }
    if (outside) names = "\xE2\x86\x91 " + names;
    const float width = ImGui::CalcTextSize(names.c_str()).x;
    const float left = std::floor(chart.max.x - with.px(6) - width);
    const float top = std::max(highest - line - 1, chart.min.y - with.px(4));
    if (!names.empty() && left > chart.min.x) {
      // The text may be over filled areas, so it gets a box in the background color.
      if (outside) list.AddRectFilled({left - 3, top}, {left + width + 3, top + line}, with.colours.background);
      list.AddText({left, top}, outside ? with.colours.muted : with.colours.limit, names.c_str());
    }
    ImGui::PopFont();
  }

  void draw_legend(const view_context& with, const draw::rectangle& header, float below, ImDrawList& list) const {
    if (shown_->bands.size() < 2) return;
    ImGui::PushFont(nullptr, small_text);
    const float line = ImGui::GetTextLineHeight();
    const float side = with.px(8);
    float y = below + 1;
    const float bottom = lanes_.size() > 1 && lanes_.back().caption != nullptr
                             ? header.max.y - with.px(lanes_.back().height)
                             : header.max.y;
    const float left = header.min.x + with.px(12);
    const float right = header.max.x - with.px(axis_width);
    for (const query::band& band : shown_->bands) {
      if (band.role == query::band_role::total || y + line > bottom) continue;
      const float top = std::floor(y + (line - side) * 0.5F);
      const ImU32 colour = with.colours.of(band);
      const bool hatch = band.role == query::band_role::untracked;
      list.AddRectFilled({left, top}, {left + side, top + side},
                         hatch ? mix(with.colours.background, colour, 0.35F) : colour);
      if (hatch) list.AddRect({left, top}, {left + side, top + side}, colour);
      const float text_left = left + side + with.px(5);
      draw_text_until(list, {text_left, y}, right, with.colours.muted, brief(band));
      y += line;
    }
    ImGui::PopFont();
  }

  void tip(const view_context& with, const query::track& what, const row_frame& where) const {
    const query::time_ns time = where.time_at(where.mouse.x);
    if (!begin_tip(with)) return;
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::TextUnformatted(what.label.c_str());
    ImGui::PopFont();
    float column = with.px(60);
    for (const query::band& band : shown_->bands)
      column = std::max(column, ImGui::CalcTextSize(band.label.c_str()).x + with.px(32));
    tip_field(with, "at", format::time_point(time, static_cast<query::time_ns>(where.ns_per_pixel())), column);
    const double place = static_cast<double>(time - shown_->range.begin) /
                         static_cast<double>(std::max<query::time_ns>(shown_->range.length(), 1));
    for (const query::band& band : shown_->bands) {
      if (band.bins.empty() || place < 0 || place >= 1) continue;
      const query::bin& bin = band.bins[std::min(
          static_cast<std::size_t>(place * static_cast<double>(band.bins.size())), band.bins.size() - 1)];
      swatch(with, with.colours.of(band), band.role == query::band_role::untracked);
      std::string text = format::value(height_of(bin, what.kind), unit_);
      if (what.kind != query::track_kind::bandwidth && bin.minimum < bin.maximum)
        text += " (" + format::value(bin.minimum, unit_) + " to " + format::value(bin.maximum, unit_) + ")";
      tip_field(with, band.label, text, column - with.px(15));
    }
    if (std::any_of(shown_->bands.begin(), shown_->bands.end(), [](const auto& band) { return band.by_category; }))
      ImGui::TextDisabled("Categories are inferred, unless the program named them.");
    for (const query::limit_line& limit : shown_->limits) ImGui::TextDisabled("%s", limit.label.c_str());
    end_tip();
  }

  screen_slot<query::series_question> question_;
  std::shared_ptr<const query::series> shown_;
  theme_kind theme_ = theme_kind::dark;
  format::value_unit unit_ = format::value_unit::none;
  std::vector<series_lane> lanes_;
  double tracked_highest_ = 0;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<track_row> make_series_row() { return std::make_unique<series_row>(); }

std::unique_ptr<track_row> make_track_row(const query::track& what) {
  switch (what.kind) {
    case query::track_kind::memory:
    case query::track_kind::pool:
    case query::track_kind::bandwidth:
    case query::track_kind::counter:
      return make_series_row();
    default:
      return make_slice_row();
  }
}

void draw_text_until(ImDrawList& list, ImVec2 at, float right, ImU32 colour, std::string_view text) {
  if (right <= at.x) return;
  const char* end = text.data() + text.size();
  const ImVec2 size = ImGui::CalcTextSize(text.data(), end);
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::RenderTextEllipsis(&list, at, {right, at.y + size.y + 2}, right, text.data(), end, &size);
  ImGui::PopStyleColor();
}

float draw_row_label(const view_context& with, ImDrawList& list, const row_frame& where, const query::track& what,
                     float right_margin) {
  const float left = where.header.min.x + with.px(12);
  const float right = where.header.max.x - right_margin;
  float y = where.header.min.y + with.px(5);
  ImGui::PushFont(nullptr, 13.5F);
  const float line = ImGui::GetTextLineHeight();
  draw_text_until(list, {left, y}, right, with.colours.text, what.label);
  ImGui::PopFont();
  y += line + 1;
  std::string_view detail = what.detail;
  if (detail.starts_with(where.group)) detail.remove_prefix(where.group.size());
  if (detail.starts_with(", ")) detail.remove_prefix(2);
  if (!detail.empty() && y + line <= where.header.max.y) {
    ImGui::PushFont(nullptr, small_text);
    draw_text_until(list, {left, y}, right, with.colours.muted, detail);
    y += ImGui::GetTextLineHeight() + 1;
    ImGui::PopFont();
  }
  return y;
}

}  // namespace sluice::gui
