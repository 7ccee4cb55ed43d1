#include "app/gui/views/timeline/idle_strip.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "app/gui/views/idle/gap_text.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "imgui_internal.h"

namespace sluice::gui {

query::idle_lanes_query choose_lanes(time_range visible, std::uint32_t width) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 60U;
  const auto wanted = static_cast<std::uint64_t>(std::max<time_ns>(visible.length(), 1));
  const auto length = static_cast<time_ns>(std::bit_ceil(std::min(wanted, longest)));
  // The floor of the quotient, for negative times, too.
  const time_ns number = visible.begin / length - (visible.begin % length < 0 ? 1 : 0);
  const time_ns begin = number * length;
  query::idle_lanes_query query;
  query.range = {begin, begin + length * 2};
  // The view shows more than half of `length`, and the range is twice `length`: four times the pixels suffice.
  query.width = std::bit_ceil(std::clamp<std::uint32_t>(width, 1, 4096)) * 4;
  return query;
}

const query::drawn_gap* find_gap(const query::idle_lane& lane, time_ns time, time_ns reach) {
  const auto next = std::partition_point(lane.gaps.begin(), lane.gaps.end(),
                                         [&](const query::drawn_gap& each) { return each.span.end <= time; });
  const query::drawn_gap* best = nullptr;
  time_ns distance = reach;
  if (next != lane.gaps.end()) {
    const time_ns away = std::max<time_ns>(next->span.begin - time, 0);
    if (away == 0) return &*next;
    if (away <= distance) best = &*next, distance = away;
  }
  if (next != lane.gaps.begin() && time - (next - 1)->span.end < distance) best = &*(next - 1);
  return best;
}

void idle_strips::reset() {
  query_ = {};
  shown_ = nullptr;
  uploaded_.clear();
}

void idle_strips::ask(query::engine& engine, const row_frame& where) {
  const auto width = static_cast<std::uint32_t>(std::max(1.0F, where.area.width()));
  shown_ = query_.ask(engine, choose_lanes(where.visible, width)).value;
}

void idle_strips::upload(const view_context& with, const query::idle_lane& lane, uploaded& to) const {
  static thread_local std::vector<draw::box> boxes;
  boxes.clear();
  constexpr float least = 0.25F;  // A box is never too low to be visible.
  const time_ns origin = shown_->range.begin;
  for (const query::drawn_gap& each : lane.gaps) {
    const double length = static_cast<double>(std::max<time_ns>(each.span.length(), 1));
    const auto share = static_cast<float>(static_cast<double>(each.idle) / length);
    boxes.push_back({static_cast<float>(each.span.begin - origin), static_cast<float>(each.span.end - origin), 0,
                     std::clamp(share, least, 1.0F), with.colours.of(each.cause), 0U});
  }
  draw::simplify(boxes, 1, 1);
  to.batch.assign(origin, boxes);
}

std::optional<time_range> idle_strips::draw(view_context& with, trace::device_id device, const row_frame& where,
                                            ImDrawList& list) {
  ImGui::PushFont(nullptr, small_text);
  const float line = ImGui::GetTextLineHeight();
  const float y = std::floor((where.header.min.y + where.header.max.y - line) * 0.5F);
  draw_text_until(list, {where.header.min.x + with.px(12), y}, where.header.max.x - with.px(6), with.colours.muted,
                  "Idle, by cause");
  if (shown_ != nullptr && shown_->too_long)
    draw_text_until(list, {where.area.min.x + with.px(6), y}, where.area.max.x, with.colours.muted,
                    "Zoom in to see why the GPU was idle.");
  ImGui::PopFont();
  if (where.named) show_term(with, "idle gap", "Idle, by cause");
  list.AddLineH(where.header.min.x, where.area.max.x, where.area.max.y - 1, with.colours.grid);
  if (shown_ == nullptr) return std::nullopt;
  const auto lane = std::find_if(shown_->lanes.begin(), shown_->lanes.end(),
                                 [&](const query::idle_lane& each) { return each.device == device; });
  if (lane == shown_->lanes.end()) return std::nullopt;
  uploaded& drawn = uploaded_[device];
  if (drawn.lanes != shown_ || drawn.theme != with.colours.kind) {
    drawn.lanes = shown_;
    drawn.theme = with.colours.kind;
    upload(with, *lane, drawn);
  }
  const draw::rectangle inner{{where.area.min.x, where.area.min.y + with.px(2)},
                              {where.area.max.x, where.area.max.y - with.px(3)}};
  with.boxes.add(list, drawn.batch, inner, where.visible, 1, with.colours.background);
  draw_labels(with, *lane, where, list);
  if (!where.hovered) return std::nullopt;
  const auto reach = static_cast<time_ns>(where.ns_per_pixel() * 2);
  const query::drawn_gap* over = find_gap(*lane, where.time_at(where.mouse.x), reach);
  if (over == nullptr) return std::nullopt;
  tip(with, *over);
  return over->gap;
}

void idle_strips::draw_labels(const view_context& with, const query::idle_lane& lane, const row_frame& where,
                              ImDrawList& list) const {
  const auto least = static_cast<time_ns>(static_cast<double>(with.px(24)) * where.ns_per_pixel());
  ImGui::PushFont(nullptr, small_text);
  const float y = std::floor((where.area.min.y + where.area.max.y - ImGui::GetTextLineHeight()) * 0.5F) - 1;
  for (const query::drawn_gap& each : lane.gaps) {
    if (each.parts > 1 || each.span.length() < least) continue;
    const float left = std::max(where.to_x(each.span.begin), where.area.min.x) + with.px(4);
    const float right = std::min(where.to_x(each.span.end), where.area.max.x) - with.px(3);
    if (right - left < with.px(18)) continue;
    const std::string label = make_gap_label(each.cause, shown_->words.at(each.words));
    const ImVec2 size = ImGui::CalcTextSize(label.c_str());
    if (size.x > right - left && right - left < with.px(40)) continue;
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.text_on(with.colours.of(each.cause)));
    ImGui::RenderTextEllipsis(&list, {std::floor(left), y}, {right, where.area.max.y}, right, label.c_str(),
                              label.c_str() + label.size(), &size);
    ImGui::PopStyleColor();
  }
  ImGui::PopFont();
}

void idle_strips::tip(const view_context& with, const query::drawn_gap& gap) const {
  if (!begin_tip(with)) return;
  const query::gap_words& words = shown_->words.at(gap.words);
  const float column = with.px(88);
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(describe_cause(gap.cause, with.text(gap.call), {}, false).c_str());
  ImGui::PopFont();
  if (gap.parts > 1)
    tip_field(with, "here", format_count(gap.parts) + " parts of gaps, " + format_time(gap.idle) + " idle", column);
  tip_field(with, gap.parts > 1 ? "longest" : "length", format_time(gap.length), column);
  if (gap.gap.length() != gap.length) tip_field(with, "of a gap of", format_time(gap.gap.length()), column);
  if (const std::string did = describe_samples(words); !did.empty())
    tip_field(with, "the host", did + ", " + format_share(words.share) + " of the samples", column);
  if (!words.place.empty()) tip_field(with, words.place_is_next ? "before" : "line", words.place, column);
  ImGui::TextDisabled("Click to select the gap.");
  end_tip();
}

}  // namespace sluice::gui
