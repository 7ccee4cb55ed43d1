#include "app/gui/views/timeline/steps_strip.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
void steps_strip::upload(const view_context& with) {
  static thread_local std::vector<draw::box> boxes;
  boxes.clear();
  const time_ns origin = shown_->range.begin;
  for (const query::slice& s : shown_->slices) {
    if (s.depth != 0) continue;
    // Give adjacent steps different shades, because a gap of one pixel between them could cover a whole step.
    const ImU32 colour = with.colours.slice(query::slice_kind::step);
    const ImU32 own = s.count == 1 && s.step % 2 != 0 ? mix(colour, with.colours.background, 0.45F) : colour;
    boxes.push_back({static_cast<float>(s.begin - origin), static_cast<float>(s.end - origin), 0, 1, own,
                     s.count == 1 ? draw::gap_after : 0U});
  }
  draw::simplify(boxes, 1, 1);
  batch_.assign(origin, boxes);
}

void steps_strip::draw(view_context& with, query::engine& engine, const query::track& track, const row_frame& where) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ImGui::PushFont(nullptr, small_text);
  const float line = ImGui::GetTextLineHeight();
  draw_text_until(
      list, {where.header.min.x + with.px(12), std::floor((where.header.min.y + where.header.max.y - line) * 0.5F)},
      where.header.max.x - with.px(6), with.colours.muted, track.label);
  ImGui::PopFont();
  if (where.named) show_term(with, "step", track.label);
  list.AddLineH(where.header.min.x, where.area.max.x, where.area.max.y - 1, with.colours.line);
  const auto result =
      query_.ask(engine, {track.id, where.visible, static_cast<std::uint32_t>(std::max(1.0F, where.area.width()))});
  if (!result) return;
  if (result.value != shown_ || theme_ != with.colours.kind) {
    shown_ = result.value;
    theme_ = with.colours.kind;
    upload(with);
  }
  const draw::rectangle inner{{where.area.min.x, where.area.min.y + with.px(2)},
                              {where.area.max.x, where.area.max.y - with.px(3)}};
  with.boxes.add(list, batch_, inner, where.visible, 1, with.colours.background);
  draw_labels(with, where, list);
  const query::slice* over = under_mouse(where);
  if (over == nullptr) return;
  if (begin_tip(with)) {
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::TextUnformatted(over->count > 1 ? (format_count(over->count) + " steps in this pixel").c_str()
                                           : ("Step " + std::to_string(over->step)).c_str());
    ImGui::PopFont();
    tip_field(with, "from", format_moment(over->begin), with.px(70));
    tip_field(with, "duration", format_time(over->end - over->begin), with.px(70));
    end_tip();
  }
  const time_range span{over->begin, over->end};
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    const time_ns air = std::max<time_ns>(span.length() / 20, 1);
    with.commands.invoke("timeline.go_to", time_range{span.begin - air, span.end + air});
  } else if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    with.commands.invoke("selection.range", span);
  }
}

void steps_strip::draw_labels(const view_context& with, const row_frame& where, ImDrawList& list) const {
  const double least = static_cast<double>(with.px(20)) * where.ns_per_pixel();
  ImGui::PushFont(nullptr, small_text);
  const float line = ImGui::GetTextLineHeight();
  const float y = std::floor((where.area.min.y + where.area.max.y - line) * 0.5F) - 1;
  for (const query::slice& s : shown_->slices) {
    if (s.count > 1 || static_cast<double>(s.end - s.begin) < least) continue;
    const float left = std::max(where.to_x(s.begin), where.area.min.x) + with.px(5);
    const float right = std::min(where.to_x(s.end), where.area.max.x) - with.px(3);
    std::string label = "step " + std::to_string(s.step);
    if (ImGui::CalcTextSize(label.c_str()).x > right - left) label = std::to_string(s.step);
    if (ImGui::CalcTextSize(label.c_str()).x > right - left) continue;
    list.AddText({std::floor(left), y}, with.colours.text, label.c_str());
  }
  ImGui::PopFont();
}

const query::slice* steps_strip::under_mouse(const row_frame& where) const {
  if (!where.hovered) return nullptr;
  const time_ns time = where.time_at(where.mouse.x);
  const auto found = std::find_if(shown_->slices.begin(), shown_->slices.end(),
                                  [=](const query::slice& s) { return s.begin <= time && time < s.end; });
  return found == shown_->slices.end() ? nullptr : &*found;
}

}  // namespace sluice::gui
