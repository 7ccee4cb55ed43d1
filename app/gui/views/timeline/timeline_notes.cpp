// The part of the timeline that marks notes and search results on the ruler.
#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {

/// Draws a flag at the start of each note, and a line over the note's range. Hovering over the flag shows the text, and
/// clicking it selects the note. O(notes that are on the screen or before it).
void timeline_view::draw_notes(const view_context& with, const row_frame& where, ImDrawList& list) const {
  const auto found = notes_->by_document.find(with.state.active()->id);
  if (found == notes_->by_document.end()) return;
  const std::vector<user_note>& notes = found->second;
  const float top = where.area.min.y;
  const float side = with.px(4);
  const float reach = with.px(5);
  const bool on_ruler = where.area.contains(where.mouse) && ImGui::IsWindowHovered();
  std::size_t nearest = notes.size(), near = 0;
  float distance = reach;
  float drawn = -1e9F;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    const user_note& each = notes[i];
    if (each.range.begin > where.visible.end) break;
    if (each.range.end < where.visible.begin) continue;
    const float x = std::floor(where.to_x(each.range.begin));
    if (each.range.length() > 0) {
      const float right = std::min(where.to_x(each.range.end), where.area.max.x);
      list.AddRectFilled({std::max(x, where.area.min.x), top}, {right, top + with.px(2)}, with.colours.accent);
    }
    if (x >= drawn + 1)
      list.AddTriangleFilled({x, top}, {x + side * 2, top + side}, {x, top + side * 2}, with.colours.accent);
    drawn = std::max(drawn, x);
    const float away = where.mouse.x < x ? x - where.mouse.x : std::max(0.0F, where.mouse.x - x - side * 2);
    if (!on_ruler || away > reach) continue;
    ++near;
    if (away <= distance) nearest = i, distance = away;
  }
  if (nearest == notes.size()) return;
  const user_note& note = notes[nearest];
  if (begin_tip(with)) {
    constexpr std::size_t longest = 400;  // bytes
    ImGui::PushTextWrapPos(with.px(360));
    ImGui::TextUnformatted(note.text.empty() ? "(empty)" : shortened(printable(note.text), longest).c_str());
    ImGui::PopTextWrapPos();
    std::string when = "note at " + format_moment(note.range.begin);
    if (near > 1) when += ", and " + format_count(near - 1) + " more here";
    ImGui::TextDisabled("%s", when.c_str());
    end_tip();
  }
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) with.commands.invoke("notes.go", static_cast<double>(nearest));
}

/// Draws a small triangle at the start of each search result, with enough space between triangles. Hovering over a
/// triangle shows the result's name. O(results in the visible range).
void timeline_view::draw_hits(const view_context& with, const row_frame& where, ImDrawList& list) const {
  if (hits_->found == nullptr || hits_->document != with.state.active()->id) return;
  const std::vector<query::found_event>& events = hits_->found->events;
  const float bottom = where.area.max.y - 1;
  const float side = with.px(3);
  const bool on_ruler =
      where.area.contains(where.mouse) && where.mouse.y > bottom - side * 2 && ImGui::IsWindowHovered();
  const query::found_event* nearest = nullptr;
  float distance = with.px(5), drawn = -1e9F;
  auto at = std::lower_bound(events.begin(), events.end(), where.visible.begin,
                             [](const query::found_event& each, time_ns time) { return each.begin < time; });
  for (; at != events.end() && at->begin <= where.visible.end; ++at) {
    const float x = std::floor(where.to_x(at->begin));
    if (x >= drawn + side) {
      list.AddTriangleFilled({x - side, bottom - side * 2}, {x + side, bottom - side * 2}, {x, bottom},
                             with.colours.text);
      drawn = x;
    }
    const float away = std::abs(where.mouse.x - x);
    if (on_ruler && away < distance) nearest = &*at, distance = away;
  }
  if (nearest == nullptr || !begin_tip(with)) return;
  constexpr std::size_t longest = 200;  // bytes
  ImGui::TextUnformatted(shortened(std::string(with.text(nearest->name)), longest).c_str());
  ImGui::TextDisabled("search result at %s", format_moment(nearest->begin).c_str());
  end_tip();
}

}  // namespace sluice::gui
