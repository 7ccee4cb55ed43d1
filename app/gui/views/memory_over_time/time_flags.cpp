#include "app/gui/views/memory_over_time/time_flags.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/shell/shown_range.hpp"

namespace sluice::gui {

void go_to_moment(const view_context& with, const metrics::report& whole_report, time_ns time) {
  with.commands.invoke("timeline.go_to", shown_range({time, time}, whole_report.whole.active, whole_report.steps));
  with.commands.invoke("moment.set", time_range{time, time});
}

bool draw_flags(const view_context& with, const time_chart& at, const metrics::report& whole_report,
                const metrics::memory_peak& peak, bool hovered) {
  const float text = with.px(small_text);
  const float side = with.px(4);
  bool on_flag = false;
  float free = -1e9F;  // Labels start at this position or to its right, so that labels do not cover one another.
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto flag = [&](time_ns time, const std::string& label, ImU32 colour) {
    const float x = std::floor(at.to_x(time));
    if (x < at.area.min.x || x > at.area.max.x) return false;
    const float y = at.area.min.y;
    list.AddTriangleFilled({x - side, y - side * 1.5F}, {x + side, y - side * 1.5F}, {x, y}, colour);
    list.AddLineV(x, y, at.area.max.y, mix(colour, with.colours.background, 0.4F));
    const float wide = small_width(with, label);
    const float left =
        x + side + with.px(3) + wide < at.area.max.x ? x + side + with.px(3) : x - side - with.px(3) - wide;
    float right = x + side;
    if (left > free && left >= at.area.min.x) {
      list.AddText(with.fonts.regular, text, {left, y - text - with.px(2)}, colour, label.c_str());
      free = left + wide + with.px(8);
      right = std::max(right, left + wide);
    }
    const ImVec2 mouse = ImGui::GetMousePos();
    const bool over = hovered && mouse.y < y && mouse.y > y - text - with.px(6) && mouse.x > std::min(left, x - side) &&
                      mouse.x < right;
    if (!over) return false;
    on_flag = true;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    return ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  };
  if (flag(peak.time, "peak " + format_bytes(peak.bytes), with.colours.text))
    go_to_moment(with, whole_report, peak.time);
  for (const metrics::failed_allocation& each : whole_report.failures) {
    if (each.device != peak.device) continue;
    if (!flag(each.time, "failed: " + format_bytes(each.bytes), with.colours.failure)) continue;
    go_to_moment(with, whole_report, each.time);
    with.commands.invoke("selection.set",
                         selection{with.state.active()->id, selection_kind::event, trace::raw(each.event)});
  }
  return on_flag;
}

}  // namespace sluice::gui
