#include "app/gui/views/timeline/axis_mouse.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {

void axis_mouse::reset() {
  hovered_time_.reset();
  drag_from_.reset();
  dragging_ = false;
  measured_.reset();
}

void axis_mouse::handle(const view_context& with, const row_frame& where, const row_hit& hit) {
  const bool over_axis = ImGui::IsWindowHovered() && where.area.contains(where.mouse) && !ImGui::IsAnyItemHovered();
  hovered_time_.reset();
  if (over_axis) hovered_time_ = where.time_at(where.mouse.x);
  turn_wheel(with, where, over_axis);
  pan(with, where, over_axis);
  if (over_axis && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    drag_from_.reset();
    if (hit.blocks) return with.commands.invoke("blocks.show", *hit.blocks);
    if (!hit.any()) return with.commands.invoke("timeline.fit");
    return with.commands.invoke("timeline.go_to", shown_around(hit.span, with.state.active()->active));
  }
  if (over_axis && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    drag_from_ = where.time_at(where.mouse.x);
    measures_ = ImGui::GetIO().KeyShift;
    measured_.reset();
  }
  if (drag_from_ && measures_) return measure(where);
  select(with, where, hit);
}

/// Zooms around the mouse, pans, or scrolls the tracks.
void axis_mouse::turn_wheel(const view_context& with, const row_frame& where, bool over_axis) {
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsWindowHovered() && io.MouseWheel != 0) {
    if (over_axis && !io.KeyCtrl && !io.KeyShift) {
      const double factor = std::pow(1.25, -static_cast<double>(io.MouseWheel));
      const time_range target = with.state.active()->target;
      const double share = static_cast<double>(where.mouse.x - where.area.min.x) / where.area.width();
      const double length = std::max(static_cast<double>(target.length()) * factor, 2.0);
      const double begin =
          static_cast<double>(target.begin) + static_cast<double>(target.length()) * share - length * share;
      with.commands.invoke("timeline.glide",
                           time_range{static_cast<time_ns>(begin), static_cast<time_ns>(begin + length)});
    } else if (over_axis && io.KeyShift) {
      with.commands.invoke("timeline.pan", argument(-static_cast<double>(io.MouseWheel) * 0.15));
    } else {
      ImGui::SetScrollY(ImGui::GetScrollY() - io.MouseWheel * with.px(48));
    }
  }
  if (over_axis && io.MouseWheelH != 0)
    with.commands.invoke("timeline.pan", argument(-static_cast<double>(io.MouseWheelH) * 0.15));
}

/// Pans while the middle or the right button is held.
void axis_mouse::pan(const view_context& with, const row_frame& where, bool over_axis) {
  if (over_axis && (ImGui::IsMouseClicked(ImGuiMouseButton_Middle) || ImGui::IsMouseClicked(ImGuiMouseButton_Right))) {
    pan_from_ = where.mouse.x;
    pan_start_ = with.state.active()->visible;
  }
  for (const ImGuiMouseButton button : {ImGuiMouseButton_Middle, ImGuiMouseButton_Right})
    if (pan_from_ != 0 && ImGui::IsMouseDragging(button, 1)) {
      const auto shift =
          saturating_cast<time_ns>(static_cast<double>(pan_from_ - where.mouse.x) * where.ns_per_pixel());
      with.commands.invoke("timeline.show",
                           time_range{saturating_sum(pan_start_.begin, shift), saturating_sum(pan_start_.end, shift)});
      ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    }
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Middle) && !ImGui::IsMouseDown(ImGuiMouseButton_Right)) pan_from_ = 0;
}

time_range axis_mouse::dragged_range(const row_frame& where) const {
  const time_ns now = where.time_at(std::clamp(where.mouse.x, where.area.min.x, where.area.max.x));
  return {std::min(*drag_from_, now), std::max(*drag_from_, now)};
}

void axis_mouse::measure(const row_frame& where) {
  const time_range dragged = dragged_range(where);
  if (dragged.length() > 0) measured_ = dragged;
  if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) return;
  drag_from_.reset();
  measures_ = false;
}

/// Selects the range of a drag when the button is released. Without a drag, selects the event under the mouse.
void axis_mouse::select(const view_context& with, const row_frame& where, const row_hit& hit) {
  if (drag_from_ && ImGui::IsMouseDragging(ImGuiMouseButton_Left, with.px(4))) dragging_ = true;
  if (drag_from_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {
    const time_range dragged = dragged_range(where);
    if (dragging_) {
      with.commands.invoke("selection.range", time_range{dragged.begin, std::max(dragged.end, dragged.begin + 1)});
    } else if (hit.any()) {
      const bool block = hit.block != trace::block_id::none;
      with.commands.invoke("selection.set",
                           selection{with.state.active()->id, block ? selection_kind::block : selection_kind::event,
                                     block ? trace::raw(hit.block) : trace::raw(hit.event)});
      if (hit.blocks) with.commands.invoke("blocks.filter", *hit.blocks);
    } else if (hit.gap) {
      with.commands.invoke("selection.range", *hit.gap);
    } else {
      with.commands.invoke("selection.clear");
      if (hit.blocks) with.commands.invoke("blocks.filter", *hit.blocks);
    }
    if (!dragging_) {
      const time_ns now = where.time_at(std::clamp(where.mouse.x, where.area.min.x, where.area.max.x));
      with.commands.invoke("moment.set", time_range{now, now});
    }
    drag_from_.reset();
    dragging_ = false;
  }
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) dragging_ = false;
}

void axis_mouse::draw_measured(const view_context& with, const row_frame& where, ImDrawList& list) const {
  if (!measured_) return;
  const auto to_x = [&](time_ns time) {
    return std::floor(std::clamp(where.to_x(time), where.area.min.x - 1, where.area.max.x + 1));
  };
  const float left = to_x(measured_->begin);
  const float right = to_x(measured_->end);
  if (right < where.area.min.x || left > where.area.max.x) return;
  list.PushClipRect(where.area.min, where.area.max, true);
  const float y = where.area.min.y + with.px(18);
  for (const float x : {left, right}) list.AddLineV(x, where.area.min.y, where.area.max.y, with.colours.text);
  list.AddLineH(left, right, y, with.colours.text);
  const std::string label = format_time(measured_->length()) + "  (" +
                            format::value(1e9 / static_cast<double>(measured_->length()), format::value_unit::none) +
                            " per second)";
  const ImVec2 size = ImGui::CalcTextSize(label.c_str());
  const float middle = (std::max(left, where.area.min.x) + std::min(right, where.area.max.x) - size.x) * 0.5F;
  const float text_left =
      std::floor(std::clamp(middle, where.area.min.x + with.px(8),
                            std::max(where.area.min.x + with.px(8), where.area.max.x - size.x - with.px(8))));
  const ImVec2 min(text_left - with.px(6), y - size.y * 0.5F - with.px(2));
  const ImVec2 max(text_left + size.x + with.px(6), y + size.y * 0.5F + with.px(2));
  list.AddRectFilled(min, max, with.colours.raised, with.px(4));
  list.AddRect(min, max, with.colours.text, with.px(4));
  list.AddText({text_left, min.y + with.px(2)}, with.colours.text, label.c_str());
  list.PopClipRect();
}

void axis_mouse::draw_range(const view_context& with, const row_frame& where, ImDrawList& list) const {
  std::optional<time_range> range = with.state.range();
  if (dragging_ && drag_from_) range = dragged_range(where);
  if (!range) return;
  const float left = std::floor(std::clamp(where.to_x(range->begin), where.area.min.x - 1, where.area.max.x + 1));
  const float right = std::floor(std::clamp(where.to_x(range->end), where.area.min.x - 1, where.area.max.x + 1));
  if (right < where.area.min.x || left > where.area.max.x) return;
  list.PushClipRect(where.area.min, where.area.max, true);
  list.AddRectFilled({left, where.area.min.y}, {std::max(right, left + 1), where.area.max.y}, with.colours.range_fill);
  list.AddLineV(left, where.area.min.y, where.area.max.y, with.colours.accent);
  list.AddLineV(right, where.area.min.y, where.area.max.y, with.colours.accent);
  const std::string label = format_time(range->length());
  const ImVec2 size = ImGui::CalcTextSize(label.c_str());
  const float middle =
      std::floor((std::max(left, where.area.min.x) + std::min(right, where.area.max.x) - size.x) * 0.5F);
  const float bottom = where.area.max.y - with.px(8);
  const ImVec2 min(std::clamp(middle - with.px(6), where.area.min.x + 2,
                              std::max(where.area.min.x + 2, where.area.max.x - size.x - with.px(14))),
                   bottom - size.y - with.px(4));
  list.AddRectFilled(min, {min.x + size.x + with.px(12), bottom}, with.colours.raised, with.px(4));
  list.AddRect(min, {min.x + size.x + with.px(12), bottom}, with.colours.accent, with.px(4));
  list.AddText({min.x + with.px(6), min.y + with.px(2)}, with.colours.text, label.c_str());
  list.PopClipRect();
}

}  // namespace sluice::gui
