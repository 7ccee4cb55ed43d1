#include "app/gui/views/timeline/overview.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gui {

void overview_strip::draw(view_context& with, const query::track_list& tracks, const draw::rectangle& header,
                          const draw::rectangle& area) {
  const document& shown = *with.state.active();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const time_range span =
      clamp_view({shown.span.begin - shown.span.length(), shown.span.end + shown.span.length()}, shown.span);
  const row_frame where{header, area, span, ImGui::IsWindowHovered() && area.contains(ImGui::GetMousePos()),
                        ImGui::GetMousePos()};
  if (theme_ != with.colours.kind) {
    theme_ = with.colours.kind;
    for (bar& each : bars_) each.shown = nullptr;
  }

  const float bars_height = with.px(5) * static_cast<float>(bar_count);
  const draw::rectangle upper{{area.min.x, area.min.y + with.px(3)},
                              {area.max.x, area.min.y + with.px(3) + bars_height}};
  const draw::rectangle lower{{area.min.x, upper.max.y + 1}, {area.max.x, area.max.y - 1}};
  for (const query::track& each : tracks.tracks)
    if (each.kind == query::track_kind::memory) {
      memory_.draw(with, *shown.engine, each.id, span, lower, list);
      break;
    }
  draw_streams(with, *shown.engine, tracks, span, upper, list);

  draw_left_out(with, where, shown.active, list);
  draw_name(with, tracks, header, list);

  // Mark the visible range of the timeline only with a frame, so that no pixel is painted twice.
  const float left = std::floor(std::clamp(where.to_x(shown.visible.begin), area.min.x, area.max.x));
  const float right = std::floor(std::clamp(where.to_x(shown.visible.end), area.min.x, area.max.x));
  if (right - left < area.width() - 1) {
    const ImU32 veil = (with.colours.background & ~IM_COL32_A_MASK) | (0xA0U << IM_COL32_A_SHIFT);
    list.AddRectFilled(area.min, {left, area.max.y}, veil);
    list.AddRectFilled({right, area.min.y}, area.max, veil);
    list.AddRect({left, area.min.y}, {std::max(right, left + 2), area.max.y}, with.colours.accent);
    const float middle = std::floor((area.min.y + area.max.y) * 0.5F);
    for (const float x : {left, right})
      list.AddRectFilled({x - with.px(2), middle - with.px(7)}, {x + with.px(2), middle + with.px(7)},
                         with.colours.accent, with.px(2));
  }
  if (const auto& range = with.state.range()) {
    const float begin = std::floor(where.to_x(range->begin));
    const float to = std::max(begin + 1, std::floor(where.to_x(range->end)));
    list.AddRectFilled({begin, area.max.y - with.px(3)}, {to, area.max.y}, with.colours.accent);
  }
  if (with.hovered_time && !where.hovered) {
    const float x = std::floor(where.to_x(*with.hovered_time));
    if (x >= area.min.x && x < area.max.x) list.AddLineV(x, area.min.y, area.max.y, with.colours.muted);
  }
  list.AddLineH(header.min.x, area.max.x, area.max.y, with.colours.line);
  handle_mouse(with, where);
}

/// Hatches the time before and after the work, which the timeline does not show when it opens.
void overview_strip::draw_left_out(const view_context& with, const row_frame& where, time_range active,
                                   ImDrawList& list) {
  if (active.length() <= 0) return;
  const float begin = std::clamp(std::floor(where.to_x(active.begin)), where.area.min.x, where.area.max.x);
  const float end = std::clamp(std::floor(where.to_x(active.end)), where.area.min.x, where.area.max.x);
  const float pitch = with.px(8);
  const float height = where.area.height();
  for (const auto& [left, right] : {std::pair(where.area.min.x, begin), std::pair(end, where.area.max.x)}) {
    if (right - left < with.px(3)) continue;
    list.PushClipRect({left, where.area.min.y}, {right, where.area.max.y}, true);
    // Align the hatching to the strip, so that both sides look like one pattern.
    const float first = where.area.min.x + std::floor((left - where.area.min.x - height) / pitch) * pitch;
    for (float x = first; x < right; x += pitch)
      list.AddLine({x, where.area.max.y}, {x + height, where.area.min.y}, with.colours.line);
    list.PopClipRect();
  }
}

/// Draws the strip's name, and the number of streams for which there is no space.
void overview_strip::draw_name(const view_context& with, const query::track_list& tracks, const draw::rectangle& header,
                               ImDrawList& list) {
  std::size_t copies = 0;
  std::size_t streams = 0;
  for (const query::track& each : tracks.tracks) {
    copies += each.kind == query::track_kind::direction ? 1 : 0;
    streams += each.kind == query::track_kind::stream ? 1 : 0;
  }
  const std::size_t drawn = std::min(streams, bar_count - std::min<std::size_t>(copies, 2));
  const float line = ImGui::GetTextLineHeight();
  const float left = header.min.x + with.px(12);
  const float middle = (header.min.y + header.max.y) * 0.5F;
  list.AddText({left, std::floor(drawn < streams ? middle - line : middle - line * 0.5F)}, with.colours.muted,
               "Overview");
  if (drawn == streams) return;
  ImGui::PushFont(nullptr, small_text);
  draw_text_until(list, {left, std::floor(middle)}, header.max.x - with.px(6), with.colours.muted,
                  std::to_string(drawn) + " of " + std::to_string(streams) + " streams");
  ImGui::PopFont();
}

void overview_strip::draw_streams(view_context& with, query::engine& engine, const query::track_list& tracks,
                                  time_range span, const draw::rectangle& area, ImDrawList& list) {
  const float height = with.px(5);
  std::size_t next = 0;
  // Show copy directions first, because copies matter most; then as many streams as fit.
  for (const query::track_kind kind : {query::track_kind::direction, query::track_kind::stream})
    for (const query::track& each : tracks.tracks) {
      if (each.kind != kind || next >= bar_count || (kind == query::track_kind::direction && next >= 2)) continue;
      bar& drawn = bars_[next];
      const draw::rectangle lane{{area.min.x, area.min.y + height * static_cast<float>(next)},
                                 {area.max.x, area.min.y + height * static_cast<float>(next + 1) - 1}};
      ++next;
      const auto result =
          drawn.query.ask(engine, {each.id, span, static_cast<std::uint32_t>(std::max(1.0F, area.width()))});
      if (!result) continue;
      if (result.value != drawn.shown) {
        drawn.shown = result.value;
        static thread_local std::vector<draw::box> boxes;
        boxes.clear();
        for (const query::slice& s : drawn.shown->slices) {
          if (s.depth != 0) continue;
          // These bars are too low to fill only a part of their height, as tracks do. Instead their colour fades with
          // the busy share, in imperceptible steps.
          const float share = std::round(std::clamp(s.busy, 0.0F, 1.0F) * 50) / 50;
          const ImU32 colour = mix(with.colours.background, with.colours.slice(s.kind), 0.2F + 0.8F * share);
          const time_ns origin = drawn.shown->range.begin;
          boxes.push_back({static_cast<float>(s.begin - origin), static_cast<float>(s.end - origin), 0, 1, colour, 0});
        }
        draw::simplify(boxes, 1, 1);
        drawn.batch.assign(drawn.shown->range.begin, boxes);
      }
      with.boxes.add(list, drawn.batch, lane, span, 1, with.colours.background);
    }
}

void overview_strip::handle_mouse(view_context& with, const row_frame& where) {
  const document& shown = *with.state.active();
  const float left = where.to_x(shown.visible.begin);
  const float right = where.to_x(shown.visible.end);
  const float reach = with.px(5);
  const auto over = [&] {
    if (std::fabs(where.mouse.x - left) <= reach) return grip::left;
    if (std::fabs(where.mouse.x - right) <= reach) return grip::right;
    const bool complete = right - left >= where.area.width() - 1;
    return where.mouse.x > left && where.mouse.x < right && !complete ? grip::move : grip::fresh;
  };
  ImGui::SetCursorScreenPos(where.area.min);
  ImGui::InvisibleButton("overview", {where.area.width(), where.area.height()});
  const bool hovered = ImGui::IsItemHovered();
  const grip now = grip_ != grip::none ? grip_ : over();
  if (hovered || grip_ != grip::none)
    ImGui::SetMouseCursor(now == grip::move ? ImGuiMouseCursor_Hand : ImGuiMouseCursor_ResizeEW);
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    grip_ = grip::none;
    return with.commands.invoke("timeline.fit");
  }
  if (ImGui::IsItemActivated()) {
    grip_ = over();
    grabbed_ = shown.visible;
    grabbed_at_ = where.time_at(where.mouse.x);
  }
  if (!ImGui::IsItemActive()) grip_ = grip::none;
  if (grip_ == grip::none || !ImGui::IsMouseDragging(ImGuiMouseButton_Left, with.px(2))) return;
  const time_ns time = where.time_at(std::clamp(where.mouse.x, where.area.min.x, where.area.max.x));
  time_range next = grabbed_;
  switch (grip_) {
    case grip::move:
      next = {grabbed_.begin + time - grabbed_at_, grabbed_.end + time - grabbed_at_};
      break;
    case grip::left:
      next.begin = std::min(time, grabbed_.end - 1);
      break;
    case grip::right:
      next.end = std::max(time, grabbed_.begin + 1);
      break;
    case grip::fresh:
      next = {std::min(time, grabbed_at_), std::max(time, grabbed_at_)};
      break;
    case grip::none:
      break;
  }
  if (next.length() > 0) with.commands.invoke("timeline.show", next);
}

}  // namespace sluice::gui
