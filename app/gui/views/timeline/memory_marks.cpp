#include "app/gui/views/timeline/memory_marks.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/window/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/code_place.hpp"

namespace sluice::gui {
namespace {

/// The sum of the first stack in a bin: what the areas show.
double sum_areas(const series_lane& lane, const query::series& curves, std::size_t at) {
  double total = 0;
  for (const std::size_t band : lane.levels.front().bands)
    total += std::max(0.0, compute_height(curves.bands[band], at, query::track_kind::memory));
  return total;
}

float to_y(const draw::rectangle& chart, double top, double value) {
  return std::floor(chart.max.y - static_cast<float>(value / top) * chart.height() + 0.5F);
}

void add_dashes(ImDrawList& list, ImVec2 from, ImVec2 to, ImU32 colour, float dash) {
  const float length = std::max(std::abs(to.x - from.x), std::abs(to.y - from.y));
  if (!(length > 0)) return;
  const ImVec2 step{(to.x - from.x) / length, (to.y - from.y) / length};
  for (float at = 0; at < length; at += dash * 2) {
    const float end = std::min(at + dash, length);
    list.AddLine({from.x + step.x * at, from.y + step.y * at}, {from.x + step.x * end, from.y + step.y * end}, colour,
                 std::max(1.0F, std::floor(dash / 3)));
  }
}

/// Draws text on a patch of the background, because areas may be behind it.
void add_label(const view_context& with, ImDrawList& list, ImVec2 at, ImU32 colour, const std::string& text) {
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  const ImU32 veil = (with.colours.background & ~IM_COL32_A_MASK) | (0xC8U << IM_COL32_A_SHIFT);
  list.AddRectFilled({at.x - with.px(3), at.y}, {at.x + size.x + with.px(3), at.y + size.y}, veil);
  list.AddText(at, colour, text.c_str());
}

}  // namespace

std::optional<highest_point> find_highest_point(const series_lane& lane, const query::series& curves,
                                                time_range visible) {
  if (lane.levels.empty() || lane.levels.front().mark != band_mark::area || lane.levels.front().bands.empty())
    return std::nullopt;
  const query::band& first = curves.bands[lane.levels.front().bands.front()];
  const std::size_t count = first.bins.size();
  const auto get_begin = [&](std::size_t at) {
    return curves.range.begin + static_cast<time_ns>(static_cast<double>(curves.range.length()) *
                                                     (static_cast<double>(at) / static_cast<double>(count)));
  };
  highest_point highest;
  double lowest = 0;
  bool any = false;
  for (std::size_t at = 0; at < count; ++at) {
    const time_range span{get_begin(at), get_begin(at + 1)};
    if (span.begin < visible.begin || span.end > visible.end) continue;
    const double total = sum_areas(lane, curves, at);
    lowest = any ? std::min(lowest, total) : total;
    any = true;
    if (total > highest.bytes) highest = {span, total, first.layer, first.kind};
  }
  if (highest.bytes <= 0 || highest.bytes <= lowest * 1.01) return std::nullopt;
  return highest;
}

memory_failure find_failure(const metrics::report& whole_report, trace::device_id device) {
  memory_failure failed;
  if (whole_report.out_of_memory.empty()) return failed;
  const metrics::out_of_memory_report& report = whole_report.out_of_memory.front();
  const metrics::out_of_memory& memory = report.metrics;
  if (memory.device != device) return failed;
  failed.time = memory.time;
  failed.asked = memory.asked;
  failed.short_by = metrics::get_shortage(memory);
  const bool own_limit = memory.limit == metrics::memory_limit::framework && memory.limit_to > 0;
  failed.limit = own_limit ? memory.limit_to : memory.device_bytes;
  failed.limit_label = (own_limit ? "the limit that was set: " : "the GPU's memory: ") + format_bytes(failed.limit);
  const std::string place = metrics::to_text(report.where);
  failed.label = "asked for " + format_bytes(memory.asked) + (place.empty() ? "" : ", " + place);
  return failed;
}

double get_base(const memory_failure& failed, double in_use) {
  if (failed.limit == 0 || failed.short_by == 0) return in_use;
  const double base =
      static_cast<double>(failed.limit) + static_cast<double>(failed.short_by) - static_cast<double>(failed.asked);
  return std::max(base, in_use);
}

std::string highest_mark::find_owner(const view_context& with, query::engine& engine, const query::track& track,
                                     const highest_point& point) {
  constexpr std::uint32_t parts = 256;
  const auto closer = closer_.ask(engine, {track.id, point.span, parts, with.state.memory_by_category});
  if (!closer || !closer.complete) return {};
  const std::vector<series_lane> lanes = list_lanes(*closer.value, track.kind);
  if (lanes.empty()) return {};
  auto exact = find_highest_point(lanes.front(), *closer.value, point.span);
  if (!exact) exact = point;  // The same throughout the pixel.
  query::blocks_query wanted;
  wanted.range = {exact->span.begin, std::max(exact->span.end, exact->span.begin + 1)};
  wanted.layer = point.layer;
  wanted.device = track.device;
  wanted.sort = query::block_column::born;
  wanted.rows = 1;
  const auto blocks = blocks_.ask(engine, wanted);
  if (!blocks || !blocks.complete || blocks->rows.empty()) return {};
  const query::block_row& last = blocks->rows.front();
  if (last.born < point.span.begin || blocks->asked_by.empty()) return {};
  const std::string& place = blocks->names[blocks->asked_by.front()];
  if (place.empty()) return {};
  const index::category category = last.category.kind;
  return (category == index::category::none ? format_bytes(last.bytes) : std::string(index::category_name(category))) +
         ", " + place;
}

void highest_mark::draw(const view_context& with, query::engine& engine, const query::track& track,
                        const row_frame& where, const draw::rectangle& chart, const series_lane& lane,
                        const query::series& curves, ImDrawList& list) {
  constexpr float least_height = 90;  // design pixels
  if (chart.height() < with.px(least_height)) return;
  const auto point = find_highest_point(lane, curves, where.visible);
  if (!point) return;
  const document& shown = *with.state.active();
  if (*point != owned_ && shown.visible == shown.target && !ImGui::IsAnyMouseDown()) {
    owner_ = find_owner(with, engine, track, *point);
    if (!owner_.empty()) owned_ = *point;
  }
  const std::string text = "highest in view " + format_bytes(point->bytes) +
                           (*point == owned_ && !owner_.empty() ? ": " + owner_ : std::string());
  ImGui::PushFont(nullptr, small_text);
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  const float x = std::floor((where.to_x(point->span.begin) + where.to_x(point->span.end)) * 0.5F);
  list.PushClipRect(chart.min, chart.max, true);
  add_dashes(list, {x, chart.min.y}, {x, to_y(chart, lane.axis.top, point->bytes)}, with.colours.text, with.px(3));
  float left = x + with.px(6);
  if (left + size.x > chart.max.x - with.px(4)) left = std::max(chart.min.x + with.px(4), x - with.px(6) - size.x);
  add_label(with, list, {std::floor(left), chart.min.y + 1}, with.colours.text, text);
  list.PopClipRect();
  ImGui::PopFont();
}

void draw_failure(const view_context& with, const memory_failure& failed, double in_use, const row_frame& where,
                  const draw::rectangle& chart, double top, ImDrawList& list) {
  const ImU32 red = with.colours.failure;
  ImGui::PushFont(nullptr, small_text);
  const float line = ImGui::GetTextLineHeight();
  list.PushClipRect(chart.min, chart.max, true);
  if (failed.limit > 0) {
    const float y = to_y(chart, top, static_cast<double>(failed.limit));
    list.AddLine({chart.min.x, y}, {chart.max.x, y}, red, std::max(1.0F, with.px(1.5F)));
    add_label(with, list, {chart.min.x + with.px(8), std::max(y - line - 2, chart.min.y)}, red, failed.limit_label);
  }
  const float x = std::floor(where.to_x(failed.time));
  if (x >= chart.min.x && x <= chart.max.x) {
    const double base = get_base(failed, in_use);
    const float low = to_y(chart, top, base), high = to_y(chart, top, base + static_cast<double>(failed.asked));
    const float left = std::max(chart.min.x + with.px(4), x - with.px(72));
    const float dash = with.px(4);
    list.AddLineV(x, chart.min.y, chart.max.y, red);
    list.AddRectFilled({left, high}, {x, low}, (red & ~IM_COL32_A_MASK) | (0x28U << IM_COL32_A_SHIFT));
    add_dashes(list, {left, high}, {x, high}, red, dash);
    add_dashes(list, {left, low}, {x, low}, red, dash);
    add_dashes(list, {left, high}, {left, low}, red, dash);
    const float width = ImGui::CalcTextSize(failed.label.c_str()).x;
    float text_left = left - with.px(8) - width;
    if (text_left < chart.min.x + with.px(4)) text_left = x + with.px(8);
    if (text_left + width > chart.max.x) text_left = chart.min.x + with.px(4);
    // Beside the box or, if that is too low, below the limit, whose line would cross the text.
    const float y = low - high >= line * 2 ? (low + high - line) * 0.5F : low + with.px(3);
    add_label(with, list, {std::floor(text_left), std::floor(std::clamp(y, chart.min.y, chart.max.y - line))}, red,
              failed.label);
  }
  list.PopClipRect();
  ImGui::PopFont();
}

}  // namespace sluice::gui
