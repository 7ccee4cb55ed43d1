#include "app/gui/views/timeline/flows.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::gui {

std::optional<float> flow_lines::find_middle(std::uint64_t track, trace::event_id event) const {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [=](const placed_row& row) { return row.track == track; });
  if (found == rows_.end()) return std::nullopt;
  return found->top + found->row->find_middle(event).value_or(found->height * 0.5F);
}

void flow_lines::draw(const view_context& with, query::engine& engine, const row_frame& where, ImDrawList& list) {
  drawn_.clear();
  const selection& chosen = with.state.selected();
  query::details_query query;
  if (chosen.kind == selection_kind::event) {
    query.event = static_cast<trace::event_id>(chosen.id);
  } else if (chosen.kind == selection_kind::block) {
    query.block = static_cast<trace::block_id>(chosen.id);
  } else {
    return;
  }
  const details about = selected_.ask(engine, query);
  // An incomplete result may still be about the event that was selected before.
  if (!about || !about.complete) return;
  list.PushClipRect(where.area.min, where.area.max, true);
  std::size_t next = 0;
  for (const query::detail& each : about->details) {
    if (each.link == trace::event_id::none || each.link == about->event || next >= most) continue;
    const details other = linked_[next++].ask(engine, {each.link, trace::block_id::none});
    if (other && other.complete && other->event == each.link) connect(with, *about.value, *other.value, where, list);
  }
  list.PopClipRect();
}

void flow_lines::connect(const view_context& with, const query::event_details& one, const query::event_details& two,
                         const row_frame& where, ImDrawList& list) {
  const query::event_details& early = one.span.begin <= two.span.begin ? one : two;
  const query::event_details& late = &early == &one ? two : one;
  const auto early_y = find_middle(early.track, early.event);
  const auto late_y = find_middle(late.track, late.event);
  if (!early_y || !late_y) return;
  // A line starts at the end of its cause if the cause has ended by then, or otherwise at the start of the cause.
  // Distant positions are clamped; they are outside the view anyway.
  const auto to_x = [&](time_ns time) {
    return std::clamp(where.to_x(time), where.area.min.x - 10'000, where.area.max.x + 10'000);
  };
  const ImVec2 vec2(to_x(early.span.end <= late.span.begin ? early.span.end : early.span.begin), *early_y);
  const ImVec2 to(to_x(late.span.begin), *late_y);
  drawn_.push_back({two.event, vec2, to});
  const float bend = std::max(with.px(24), std::fabs(to.x - vec2.x) * 0.4F);
  const auto curve = [&](ImU32 colour, float width) {
    list.AddBezierCubic(vec2, {vec2.x + bend, vec2.y}, {to.x - bend, to.y}, to, colour, width, 24);
  };
  curve(with.colours.background, with.px(4));  // makes the line visible on boxes of any colour
  curve(with.colours.text, with.px(1.5F));
  const float head = with.px(5);
  list.AddTriangleFilled(to, {to.x - head, to.y - head * 0.7F}, {to.x - head, to.y + head * 0.7F}, with.colours.text);
}

}  // namespace sluice::gui
