// The part of the timeline that decides how much space lanes get.
#include <algorithm>
#include <cmath>

#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/format.hpp"

namespace sluice::gui {
namespace {

constexpr float line_height = 24;
/// The height of memory that is the same throughout, in design pixels.
constexpr float flat_height = 56;

bool is_device_memory(const query::track& track) {
  return track.kind == query::track_kind::memory && track.device != trace::device_id::none;
}

bool is_work(const query::track& track) {
  return track.kind == query::track_kind::stream || track.kind == query::track_kind::direction ||
         track.kind == query::track_kind::host_thread;
}

/// Returns "3 lanes are empty: Device to host, Peer copies, Page faults".
std::string describe_empty(const std::vector<std::string>& names, bool drawn) {
  constexpr std::size_t most = 8;
  std::string text = names.size() == 1 ? "1 lane is empty" : format_count(names.size()) + " lanes are empty";
  text += drawn ? "; click to fold: " : " here: ";
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += ", ...";
  return text;
}

}  // namespace

memory_scale timeline_view::choose_scale(const placed_track& placed, float panel) const {
  if (placed.memory == 0) return {};
  const auto row = rows_.find(placed.memory);
  const bool known = row != rows_.end() && row->second.row;
  memory_scale scale{placed.largest,
                     known && placed.track->kind != query::track_kind::memory ? row->second.row->bytes_per_pixel() : 0,
                     0};
  if (!is_device_memory(*placed.track)) return scale;
  // Memory is the main picture: the lanes of all devices' memory together take two fifths of the panel, and more if
  // there is little else. Memory that never changes is no picture.
  std::size_t lanes = 0;
  bool work = false;
  for (const placed_track& each : layout().tracks) {
    if (is_device_memory(*each.track) && !survey_.of(each.track->id).flat) ++lanes;
    work = work || (is_work(*each.track) && !survey_.of(each.track->id).empty);
  }
  const float share = std::floor(panel * (work ? 0.4F : 0.75F) / static_cast<float>(std::max<std::size_t>(lanes, 1)));
  scale.main_height =
      survey_.of(placed.track->id).flat && work ? flat_height : std::clamp(share, 140.0F, work ? 400.0F : 700.0F);
  return scale;
}

float timeline_view::draw_empty(const view_context& with, const row_frame& where, float y, const std::string& group,
                                const std::vector<std::string>& names, ImDrawList& list) {
  if (names.empty() || folded_.contains(group)) return y;
  const float height = with.px(line_height);
  const bool drawn = unfolded_.contains(group);
  ImGui::SetCursorScreenPos({where.header.min.x, y});
  ImGui::PushID(group.c_str());
  if (ImGui::InvisibleButton("empty lanes", {where.area.max.x - where.header.min.x, height})) {
    if (drawn)
      unfolded_.erase(group);
    else
      unfolded_.insert(group);
  }
  ImGui::PopID();
  const ImU32 colour = ImGui::IsItemHovered() ? with.colours.text : with.colours.muted;
  const float left = where.header.min.x + with.px(12);
  ImGui::PushFont(nullptr, 10.0F);
  list.AddText({left, std::floor(y + (height - ImGui::GetTextLineHeight()) * 0.5F)}, colour,
               drawn ? icon::unfold : icon::fold);
  ImGui::PopFont();
  ImGui::PushFont(nullptr, small_text);
  draw_text_until(list, {left + with.px(14), std::floor(y + (height - ImGui::GetTextLineHeight()) * 0.5F)},
                  where.area.max.x - with.px(6), colour, describe_empty(names, drawn));
  ImGui::PopFont();
  list.AddLineH(where.header.min.x, where.area.max.x, y + height - 1, with.colours.grid);
  return y + height;
}

/// Draws a line below the tracks with the number of hidden tracks. Clicking the line shows those tracks again.
float timeline_view::draw_hidden(const view_context& with, const row_frame& where, float y, ImDrawList& list) {
  if (layout().hidden == 0) return y;
  const float height = with.px(line_height);
  ImGui::SetCursorScreenPos({where.header.min.x, y});
  if (ImGui::InvisibleButton("hidden tracks", {where.area.max.x - where.header.min.x, height}))
    with.commands.invoke("timeline.show_all_tracks");
  const std::string text = format_some(layout().hidden, "track") + " hidden. Click to show all.";
  list.AddText({where.header.min.x + with.px(12), std::floor(y + (height - ImGui::GetTextLineHeight()) * 0.5F)},
               ImGui::IsItemHovered() ? with.colours.text : with.colours.muted, text.c_str());
  return y + height;
}

}  // namespace sluice::gui
