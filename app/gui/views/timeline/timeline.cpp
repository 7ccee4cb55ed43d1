#include "app/gui/views/timeline/timeline.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/memory_marks.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

constexpr float overview_height = 56;
constexpr float ruler_height = 24;
constexpr float group_height = 24;

/// The glossary term for a track; empty if there is none.
std::string_view get_term(const query::track& track) {
  switch (track.kind) {
    case query::track_kind::memory:
      return track.device == trace::device_id::none ? "host memory" : "device memory";
    case query::track_kind::pool:
      return "pool blocks";
    case query::track_kind::bandwidth:
      return "bandwidth";
    case query::track_kind::direction:
      return "copies";
    case query::track_kind::stream:
      return "stream";
    case query::track_kind::host_thread:
      return "host thread";
    case query::track_kind::counter:
      return "counter";
    case query::track_kind::steps:
      return "step";
  }
  return {};
}

/// True if the times in a track come from the device and therefore arrive late.
bool is_of_device_times(query::track_kind kind) {
  return kind == query::track_kind::stream || kind == query::track_kind::direction;
}

/// The devices with streams, which may have run kernels.
std::set<trace::device_id> list_stream_devices(const track_layout& layout) {
  std::set<trace::device_id> devices;
  for (const placed_track& each : layout.tracks)
    if (each.track->kind == query::track_kind::stream) devices.insert(each.track->device);
  devices.erase(trace::device_id::none);
  return devices;
}

}  // namespace

void timeline_view::reset() {
  tracks_query_ = {};
  sought_ = {};
  report_query_ = {};
  overview_.reset();
  rows_.clear();
  steps_.clear();
  idle_.reset();
  survey_.reset();
  axis_.reset();
  flows_ = {};
  stepper_.reset();
  arrangement_.reset();
  queries_.let_go_rows();
}

void timeline_view::draw(view_context& with) {
  const document& shown = *with.state.active();
  const auto tracks = tracks_query_.ask(*shown.engine, {});
  stepper_.follow(with);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (!tracks || tracks->tracks.empty()) {
    if (tracks && tracks.complete)
      empty_state(
          with, icon::chart, shown.live ? "Nothing on the timeline yet" : "Nothing was recorded",
          shown.live ? "The recording contains no allocations, copies, kernels or calls so far." : nothing_recorded);
    return;
  }
  arrangement_.arrange(shown, tracks.value);
  const float header_width = std::floor(std::min(with.px(header_width_), room.x * 0.36F));
  const float scroll_bar = ImGui::GetStyle().ScrollbarSize;
  const float right = origin.x + room.x - scroll_bar;
  const float left = origin.x + header_width;
  if (right - left < with.px(60)) return;

  float y = origin.y;
  overview_.draw(with, *tracks.value, {{origin.x, y}, {left, y + with.px(overview_height)}},
                 {{left, y}, {right, y + with.px(overview_height)}});
  y += with.px(overview_height) + 1;

  row_frame where{{{origin.x, y}, {left, y + with.px(ruler_height)}},
                  {{left, y}, {right, y + with.px(ruler_height)}},
                  shown.visible,
                  false,
                  ImGui::GetMousePos()};
  const format::time_axis axis = format::time_ticks(shown.visible, static_cast<int>(where.area.width() / with.px(110)));
  draw_ruler(with, where, axis);
  y += with.px(ruler_height);
  y = draw_steps(with, *tracks.value, where, y);

  ImGui::SetCursorScreenPos({origin.x, y});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  if (ImGui::BeginChild(
          "tracks", {room.x, origin.y + room.y - y}, ImGuiChildFlags_None,
          ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_AlwaysVerticalScrollbar | ImGuiWindowFlags_NoNav)) {
    const ImVec2 inner = ImGui::GetWindowPos();
    where.area = {{left, inner.y}, {right, inner.y + ImGui::GetWindowHeight()}};
    where.header = {{origin.x, inner.y}, {left, where.area.max.y}};
    axis_area_ = where.area;
    draw_tracks(with, *tracks.value, where, axis);
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  progress_line(with, tracks.complete, tracks.progress);
}

void timeline_view::draw_ruler(view_context& with, const row_frame& where, const format::time_axis& axis) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ImGui::PushFont(nullptr, small_text);
  const float line = ImGui::GetTextLineHeight();
  const float text_y = std::floor(where.area.min.y + (where.area.height() - line) * 0.5F) - 1;
  const float bottom = where.area.max.y - 1;
  std::string corner = format_time(where.visible.length());
  if (axis.base != 0) corner = format::time_point(axis.base, std::max<time_ns>(axis.step, 1)) + "  +";
  list.AddText({where.header.min.x + with.px(12), text_y}, with.colours.muted, axis.base != 0 ? "From" : "Showing");
  const ImVec2 corner_size = ImGui::CalcTextSize(corner.c_str());
  list.AddText({where.header.max.x - corner_size.x - with.px(6), text_y}, with.colours.text, corner.c_str());

  list.PushClipRect(where.area.min, where.area.max, true);
  float free_from = where.area.min.x;
  for (const auto& [time, label] : axis.ticks) {
    const float x = std::floor(where.to_x(time) + 0.5F);
    list.AddLineV(x, bottom - with.px(6), bottom, with.colours.muted);
    for (int i = 1; i < axis.subdivisions; ++i) {
      const float minor = std::floor(where.to_x(time + axis.step * i / axis.subdivisions) + 0.5F);
      list.AddLineV(minor, bottom - with.px(3), bottom, with.colours.line);
    }
    const float width = ImGui::CalcTextSize(label.c_str()).x;
    const float text_x = std::floor(x + with.px(4));
    // Omit labels that would be cut off at the edge or would touch a neighbor.
    if (text_x < free_from || text_x + width > where.area.max.x - with.px(2)) continue;
    list.AddText({text_x, text_y}, with.colours.muted, label.c_str());
    free_from = text_x + width + with.px(10);
  }
  if (const auto& moment = with.state.moment()) {
    const float x = std::floor(where.to_x(*moment));
    const float half = with.px(5);
    list.AddTriangleFilled({x - half, bottom - with.px(7)}, {x + half + 1, bottom - with.px(7)}, {x + 0.5F, bottom},
                           with.colours.accent);
  }
  draw_uses(with, where, list);
  draw_hits(with, where, list);
  draw_notes(with, where, list);
  list.PopClipRect();
  list.AddLineH(where.header.min.x, where.area.max.x, bottom, with.colours.line);
  ImGui::PopFont();
}

/// Marks on the ruler when the selected block was used.
void timeline_view::draw_uses(const view_context& with, const row_frame& where, ImDrawList& list) {
  const query::block_use_list* uses = with.followed().uses();
  if (uses == nullptr) return;
  const float bottom = where.area.max.y - 1;
  float drawn = where.area.min.x - 1;
  for (const query::block_use& each : uses->uses) {
    const float x =
        std::floor(where.to_x(each.device.begin != trace::unknown_time ? each.device.begin : each.enqueued));
    if (x < where.area.min.x || x >= where.area.max.x || x == drawn) continue;
    list.AddRectFilled({x, bottom - with.px(5)}, {x + with.px(2), bottom}, with.colours.accent);
    drawn = x;
  }
}

void timeline_view::draw_tracks(view_context& with, const query::track_list& tracks, const row_frame& where,
                                const format::time_axis& axis) {
  const document& shown = *with.state.active();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const bool hovered = ImGui::IsWindowHovered();

  for (const auto& [time, label] : axis.ticks) {
    const float x = std::floor(where.to_x(time) + 0.5F);
    if (x >= where.area.min.x && x < where.area.max.x)
      list.AddLineV(x, where.area.min.y, where.area.max.y, with.colours.grid);
  }
  const float top = where.area.min.y - ImGui::GetScrollY();
  float y = top;
  const reveal_request& wanted = with.state.revealed();
  on_screen_.clear();
  const bool reveals = wanted.number != revealed_ && wanted.target.document == shown.id;
  revealed_ = wanted.number;
  const bool wanted_is_hidden =
      reveals && wanted.track != 0 && layout().hidden > 0 && !arrangement_.shows(wanted.track);
  if (wanted_is_hidden) with.commands.invoke("timeline.show_all_tracks");
  seek(with, where, reveals);
  row_hit hit;
  flows_.begin();
  y = draw_queries(with, where, y, hovered, hit, list);
  std::size_t group = SIZE_MAX;
  bool folded = false;
  const std::set<trace::device_id> working = list_stream_devices(layout());
  std::set<trace::device_id> waiting;  // The devices whose idle time is not drawn yet in this group.
  const auto report = report_query_.ask(*shown.engine, {});
  survey_.follow(*shown.engine, layout(), shown, shown.visible == shown.target && !ImGui::IsAnyMouseDown());
  std::vector<std::string> empty;  // The names of the empty lanes of this group.
  if (!working.empty()) idle_.ask(*shown.engine, where);
  for (const placed_track& placed : layout().tracks) {
    const query::track& each = *placed.track;
    if (placed.group != group) {
      if (group != SIZE_MAX) y = draw_empty(with, where, y, layout().groups[group].key, empty, list);
      group = placed.group;
      empty.clear();
      const track_group& belongs = layout().groups[group];
      const bool holds_wanted =
          reveals && std::any_of(layout().tracks.begin(), layout().tracks.end(),
                                 [&](const auto& t) { return t.group == group && t.track->id == wanted.track; });
      if (holds_wanted) folded_.erase(belongs.key);
      y = draw_group(with, where, y, belongs.key, belongs.title, belongs.detail, list);
      folded = folded_.contains(belongs.key);
      waiting = belongs.key == "pinned" ? std::set<trace::device_id>() : working;
    }
    if (folded) continue;
    if (waiting.erase(each.device) > 0) y = draw_idle(with, each.device, where, y, hit, list);
    const bool wanted_here = reveals && each.id == wanted.track;
    const lane_content& content = survey_.of(each.id);
    const auto names = name_empty_lanes(each, content);
    empty.insert(empty.end(), names.begin(), names.end());
    const bool unfolded = unfolded_.contains(layout().groups[group].key);
    if (content.empty && !unfolded && !wanted_here) continue;
    shared_row& row = rows_[each.id];
    if (!row.row) row.row = make_track_row(each);
    const memory_scale scale = choose_scale(placed, where.area.height() / with.scale);
    const float height = row.row->height(with, each, scale);
    if (wanted_here) scroll_to(y, y + height, where);
    if (each.id == sought_.track) scroll_to_sought(with, y, height, *row.row, where);
    if (y + height >= where.area.min.y && y <= where.area.max.y) {
      row_frame place = where;
      place.area = {{where.area.min.x, y}, {where.area.max.x, y + height}};
      place.header = {{where.header.min.x, y}, {where.header.max.x, y + height}};
      place.group = layout().groups[group].title;
      place.scale = scale;
      if (!unfolded) place.content = content;
      if (each.kind == query::track_kind::memory && report) {
        place.failed = find_failure(*report.value, each.device);
        place.blocks = report->blocks;
      }
      place.named = hovered && place.header.contains(where.mouse) && where.header.contains(where.mouse);
      place.hovered =
          hovered && !axis_.selecting() && place.area.contains(where.mouse) && where.area.contains(where.mouse);
      on_screen_.push_back(each.id);
      const row_hit found = row.row->draw(with, *shown.engine, each, place, list);
      if (place.named) name_track(with, each, place);
      if (found.any() || found.blocks) hit = found;
      if (is_of_device_times(each.kind)) draw_provisional(with, tracks, place, list);
      list.AddLineH(where.header.min.x, where.area.max.x, y + height - 1, with.colours.grid);
      list.AddLineV(where.area.min.x - 1, y, y + height, with.colours.line);
    }
    flows_.add_row(each.id, y, height, row.row.get());
    y += height;
  }
  if (group != SIZE_MAX) y = draw_empty(with, where, y, layout().groups[group].key, empty, list);
  y = draw_hidden(with, where, y, list);
  ImGui::SetCursorScreenPos({where.header.min.x, top});
  ImGui::Dummy({1, y - top + with.px(8)});
  flows_.draw(with, *shown.engine, where, list);
  draw_losses(with, tracks, where, list);
  axis_.draw_range(with, where, list);
  draw_markers(with, where, list);
  axis_.draw_measured(with, where, list);
  draw_track_menu(with);
  menu_.draw_opened(with);
  handle_arrows(with);
  axis_.handle(with, where, hit);
  open_menus(with, where, hit);
}

float timeline_view::draw_idle(view_context& with, trace::device_id device, const row_frame& where, float y,
                               row_hit& hit, ImDrawList& list) {
  const float height = with.px(idle_strips::height);
  if (y + height < where.area.min.y || y > where.area.max.y) return y + height;
  row_frame place = where;
  place.area = {{where.area.min.x, y}, {where.area.max.x, y + height}};
  place.header = {{where.header.min.x, y}, {where.header.max.x, y + height}};
  const bool hovered = ImGui::IsWindowHovered();
  place.named = hovered && place.header.contains(where.mouse) && where.header.contains(where.mouse);
  place.hovered = hovered && !axis_.selecting() && place.area.contains(where.mouse) && where.area.contains(where.mouse);
  if (const auto gap = idle_.draw(with, device, place, list)) hit.gap = gap;
  list.AddLineV(where.area.min.x - 1, y, y + height, with.colours.line);
  return y + height;
}

/// Scrolls no further than necessary to show the rows from `begin` to `to`, which are in pixels of this frame.
void timeline_view::scroll_to(float begin, float to, const row_frame& where) {
  const float above = begin - where.area.min.y;
  const float below = to - where.area.max.y;
  if (above < 0) ImGui::SetScrollY(ImGui::GetScrollY() + above);
  if (above > 0 && below > 0) ImGui::SetScrollY(ImGui::GetScrollY() + std::min(above, below));
}

void timeline_view::seek(const view_context& with, const row_frame& where, bool reveals) {
  const followed_item& item = with.followed();
  if (!reveals && sought_.version == item.version()) return;
  sought_ = {.version = item.version()};
  const selection& chosen = with.state.selected();
  const query::event_details* details = item.details();
  if (details == nullptr || chosen.kind != selection_kind::event) return;
  const bool visible = details->span.begin <= where.visible.end && details->span.end >= where.visible.begin;
  constexpr int longest = 120;
  if (visible || reveals) sought_ = {trace::event_id{chosen.id}, details->track, longest, item.version()};
}

void timeline_view::scroll_to_sought(const view_context& with, float y, float height, const track_row& row,
                                     const row_frame& where) {
  const auto middle = row.find_middle(sought_.event);
  const float half = with.px(14);
  if (middle) {
    scroll_to(y + *middle - half, y + *middle + half, where);
  } else if (y + height < where.area.min.y || y > where.area.max.y) {
    scroll_to(y, y + height, where);
  }
  if (middle || --sought_.frames <= 0) sought_.track = 0;
}

/// Handles the mouse on a track's name: hovering over the first line explains the track, and a right click opens the
/// track's menu.
void timeline_view::name_track(const view_context& with, const query::track& track, const row_frame& place) {
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) {
    menu_track_ = track.id;
    ImGui::OpenPopup("track menu");
  } else if (place.mouse.y < place.header.min.y + with.px(22) && !ImGui::IsPopupOpen("track menu")) {
    show_term(with, get_term(track), track.label);
  }
}

float timeline_view::draw_steps(view_context& with, const query::track_list& tracks, const row_frame& where, float y) {
  constexpr std::size_t most = 3;  // Maximum number of processes, because each gets its own strip.
  std::size_t drawn = 0;
  for (const query::track& each : tracks.tracks) {
    if (each.kind != query::track_kind::steps || drawn++ >= most) continue;
    row_frame place = where;
    place.header.min.y = place.area.min.y = y;
    y += with.px(steps_strip::height);
    place.header.max.y = place.area.max.y = y;
    place.hovered = ImGui::IsWindowHovered() && place.area.contains(where.mouse);
    place.named = ImGui::IsWindowHovered() && place.header.contains(where.mouse);
    steps_[each.id].draw(with, *with.state.active()->engine, each, place);
  }
  return y;
}

/// Draws a band across all tracks wherever the recorder lost events. Each band is at least one pixel wide.
void timeline_view::draw_losses(view_context& with, const query::track_list& tracks, const row_frame& where,
                                ImDrawList& list) {
  if (tracks.lost.empty()) return;
  list.PushClipRect(where.area.min, where.area.max, true);
  const ImU32 fill = (with.colours.failure & ~IM_COL32_A_MASK) | (0x38U << IM_COL32_A_SHIFT);
  float label_from = where.area.min.x;
  for (const query::lost_span& lost : tracks.lost) {
    const float left = std::floor(where.to_x(lost.span.begin));
    const float right = std::max(left + 2, std::floor(where.to_x(lost.span.end)));
    if (right < where.area.min.x || left > where.area.max.x) continue;
    list.AddRectFilled({left, where.area.min.y}, {right, where.area.max.y}, fill);
    list.AddLineV(left, where.area.min.y, where.area.max.y, with.colours.failure);
    if (right - left > 3) list.AddLineV(right, where.area.min.y, where.area.max.y, with.colours.failure);
    const std::string label = "lost " + format_some(lost.events, "event");
    const ImVec2 size = ImGui::CalcTextSize(label.c_str());
    const float text_left = std::max(left, where.area.min.x) + with.px(5);
    const ImVec2 at(text_left, where.area.max.y - size.y - with.px(6));
    if (text_left < label_from || at.x + size.x > where.area.max.x) continue;
    list.AddRectFilled({at.x - 3, at.y - 1}, {at.x + size.x + 3, at.y + size.y + 1}, with.colours.raised);
    list.AddText(at, with.colours.failure, label.c_str());
    label_from = at.x + size.x + with.px(10);
  }
  list.PopClipRect();
}

/// Dims the range after the watermark, where records from the device may still be missing.
void timeline_view::draw_provisional(const view_context& with, const query::track_list& tracks, const row_frame& place,
                                     ImDrawList& list) {
  if (tracks.complete_until == trace::unknown_time || tracks.complete_until >= tracks.span.end - 1) return;
  const float left = std::max(place.area.min.x, std::floor(place.to_x(tracks.complete_until)));
  const float right = std::min(place.area.max.x, std::floor(place.to_x(tracks.span.end)));
  if (right <= left) return;
  const ImU32 veil = (with.colours.background & ~IM_COL32_A_MASK) | (0x70U << IM_COL32_A_SHIFT);
  list.AddRectFilled({left, place.area.min.y}, {right, place.area.max.y - 1}, veil);
  list.AddLineV(left, place.area.min.y, place.area.max.y, mix(with.colours.muted, with.colours.background, 0.4F));
}

float timeline_view::draw_group(view_context& with, const row_frame& where, float y, const std::string& key,
                                const std::string& title, std::string_view detail, ImDrawList& list) {
  const float height = with.px(group_height);
  if (y + height >= where.area.min.y && y <= where.area.max.y) {
    const bool folded = folded_.contains(key);
    ImGui::SetCursorScreenPos({where.header.min.x, y});
    ImGui::PushID(key.c_str());
    if (ImGui::InvisibleButton("group", {where.area.max.x - where.header.min.x, height})) {
      if (folded) {
        folded_.erase(key);
      } else {
        folded_.insert(key);
      }
    }
    const ImU32 back = ImGui::IsItemHovered() ? with.colours.hover : with.colours.header;
    ImGui::PopID();
    list.AddRectFilled({where.header.min.x, y}, {where.area.max.x, y + height - 1}, back);
    const float text_y = std::floor(y + (height - ImGui::GetTextLineHeight()) * 0.5F);
    const float left = where.header.min.x + with.px(8);
    ImGui::PushFont(nullptr, 11.0F);
    list.AddText({left, std::floor(y + (height - ImGui::GetTextLineHeight()) * 0.5F)}, with.colours.muted,
                 folded ? icon::fold : icon::unfold);
    ImGui::PopFont();
    float x = left + with.px(16);
    ImGui::PushFont(with.fonts.bold, 13.5F);
    const std::string cut = title.size() > 90 ? title.substr(0, 87) + "..." : title;
    const float end = where.area.max.x - with.px(6);
    draw_text_until(list, {x, text_y + 1}, end, with.colours.text, cut);
    x += ImGui::CalcTextSize(cut.c_str()).x + with.px(12);
    ImGui::PopFont();
    ImGui::PushFont(nullptr, 13.0F);
    draw_text_until(list, {x, text_y + 1}, end, with.colours.muted, detail);
    ImGui::PopFont();
  }
  return y + height;
}

void timeline_view::draw_markers(view_context& with, const row_frame& where, ImDrawList& list) {
  // Mark the lifetime of a selected block, from its allocation to its free, across all tracks.
  list.PushClipRect(where.area.min, where.area.max, true);
  if (const query::event_details* item = with.followed().details();
      item != nullptr && with.state.selected().kind == selection_kind::block)
    for (const time_ns time : {item->span.begin, item->span.end}) {
      const float x = std::floor(where.to_x(time));
      if (x >= where.area.min.x && x < where.area.max.x)
        list.AddLineV(x, where.area.min.y, where.area.max.y, with.colours.text);
    }
  if (const auto& moment = with.state.moment()) {
    const float x = std::floor(where.to_x(*moment));
    if (x >= where.area.min.x && x < where.area.max.x)
      list.AddLineV(x, where.area.min.y, where.area.max.y, with.colours.accent);
  }
  if (axis_.hovered_time()) {
    const float x = std::floor(where.to_x(*axis_.hovered_time()));
    list.AddLineV(x, where.area.min.y, where.area.max.y, mix(with.colours.muted, with.colours.background, 0.4F));
  }
  list.PopClipRect();
}

void timeline_view::handle_arrows(const view_context& with) {
  if (!ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows) || ImGui::GetIO().KeyAlt) return;
  if (ImGui::IsKeyPressed(ImGuiKey_LeftArrow)) with.commands.invoke("timeline.pan_left");
  if (ImGui::IsKeyPressed(ImGuiKey_RightArrow)) with.commands.invoke("timeline.pan_right");
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) ImGui::SetScrollY(ImGui::GetScrollY() - with.px(48));
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) ImGui::SetScrollY(ImGui::GetScrollY() + with.px(48));
}

}  // namespace sluice::gui
