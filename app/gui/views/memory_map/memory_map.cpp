#include "app/gui/views/memory_map/memory_map.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

constexpr float strip_height = 26;    // design pixels
constexpr float min_for_strip = 150;  // design pixels that must remain in the panel

std::string get_words(const query::memory_step& step) {
  std::string text;
  const auto add = [&](const char* verb, std::uint64_t blocks, std::uint64_t bytes) {
    if (blocks == 0) return;
    text += (text.empty() ? "" : ", ") + std::string(verb) + " " + format_bytes(bytes);
    if (blocks > 1) text += " in " + format_some(blocks, "block");
  };
  add("allocated", step.born, step.born_bytes);
  add("freed", step.died, step.died_bytes);
  return text;
}

}  // namespace

void memory_map_view::reset() {
  memories_.reset();
  tracks_query_ = {};
  query_ = {};
  selected_query_ = {};
  moment_.reset();
  peak_wanted_ = false;
  stepper_.reset();
  shown_ = nullptr;
  curve_ = {};
  film_.reset();
  holes_.reset();
  colours_.reset();
  chart_.reset();
}

void memory_map_view::add_commands(const command_home& home) {
  static constexpr command_row<acts_on<memory_map_view>> moment[] = {{.id = "moment.set",
                                                                      .run =
                                                                          [](auto& at, auto& with) {
                                                                            if (const auto* range =
                                                                                    std::get_if<time_range>(&with))
                                                                              at.state.set_moment(range->begin);
                                                                          },
                                                                      .enabled = when_ready}};
  static constexpr command_row<acts_on<memory_map_view>> peak[] = {
      {.id = "moment.peak",
       .title = "Go to peak",
       .group = "Memory",
       .run = [](auto& at, auto&) { at.self.peak_wanted_ = true; },
       .enabled = when_ready}};
  static constexpr auto shown = [](auto& at) { return at.state.ready() && at.self.shown_ != nullptr; };
  static constexpr command_row<acts_on<memory_map_view>> map[] = {
      {.id = "map.zoom_in",
       .title = "Zoom in on map",
       .group = "Memory map",
       .icon = icon::zoom_in,
       .run = [](auto& at, auto&) { at.self.chart_.viewport().zoom(0.5); },
       .enabled = shown},
      {.id = "map.zoom_out",
       .title = "Zoom out of map",
       .group = "Memory map",
       .icon = icon::zoom_out,
       .run = [](auto& at, auto&) { at.self.chart_.viewport().zoom(2); },
       .enabled = shown},
      {.id = "map.fit",
       .title = "Fit map",
       .group = "Memory map",
       .icon = icon::expand,
       .run = [](auto& at, auto&) { at.self.chart_.viewport().fit(); },
       .enabled = shown}};
  const acts_on<memory_map_view> at{home, *this};
  home.commands.add(moment, at);
  stepper_.add_commands(home);
  home.commands.add(peak, at);
  film_.add_commands(home, [this] { return moment_; });
  home.commands.add(map, at);
}

// --- the shown memory -----------------------------------------------------------------------------------------------

void memory_map_view::choose_moment(const view_context& with) {
  const document& active = *with.state.active();
  moment_ = with.state.moment();
  if (!moment_ && active.live) moment_ = active.span.end;
  if (!moment_ && memories_.chosen() != nullptr) moment_ = memories_.chosen()->when;
}

query::memory_map_query memory_map_view::query(const view_context& with) const {
  const map_viewport& viewport = chart_.viewport();
  query::memory_map_query wanted;
  wanted.time = *moment_;
  wanted.device = memories_.device();
  wanted.lone = true;
  const float width = std::max(1.0F, viewport.area().width());
  wanted.width = static_cast<std::uint32_t>(width);
  // Round down to a power of two, so that the query does not change when the panel becomes a few pixels wider.
  if (viewport.line_bytes() != 0)
    wanted.pixel = std::bit_floor(std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(viewport.line_bytes()) / static_cast<double>(width))));
  const auto lit = with.followed().blocks();
  wanted.marks.assign(lit.begin(), lit.end());
  if (const query::memory_step* step = stepper_.find_step(*moment_)) wanted.marks.push_back(step->block);
  return wanted;
}

void memory_map_view::follow(const view_context& with) {
  waiting_ = false;
  const document* active = with.state.active();
  const bool ready = active != nullptr && active->ready();
  if (ready) film_.follow(with, tracks_query_.ask(*active->engine, {}));
  if (!stepper_.busy() && !peak_wanted_) return;
  if (!ready) {
    peak_wanted_ = false;
    return stepper_.cancel();
  }
  // If the panel has never been drawn, the moment and the device are not known yet.
  memories_.update(with);
  if (peak_wanted_ && memories_.report() != nullptr) go_to_peak(with);
  if (!stepper_.busy()) return;
  choose_moment(with);
  if (moment_) return stepper_.follow(with, *moment_, memories_.device());
  if (memories_.report() != nullptr) stepper_.cancel();
}

void memory_map_view::go_to_peak(const view_context& with) {
  peak_wanted_ = false;
  if (memories_.chosen() == nullptr) return;
  const time_range peak{memories_.chosen()->when, memories_.chosen()->when};
  with.commands.invoke("moment.set", peak);
  const document& active = *with.state.active();
  if (peak.begin < active.visible.begin || peak.end > active.visible.end)
    with.commands.invoke("timeline.go_to",
                         shown_range(peak, memories_.report()->whole.active, memories_.report()->steps));
}

// --- above the chart ------------------------------------------------------------------------------------------------

void memory_map_view::draw(view_context& with) {
  memories_.update(with);
  choose_moment(with);
  if (ImGui::IsWindowFocused(ImGuiFocusedFlags_ChildWindows)) {
    if (ImGui::IsKeyPressed(ImGuiKey_RightArrow)) with.commands.invoke("moment.next");
    if (ImGui::IsKeyPressed(ImGuiKey_LeftArrow)) with.commands.invoke("moment.previous");
    map_viewport& viewport = chart_.viewport();
    if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) viewport.scroll(1);
    if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) viewport.scroll(-1);
    if (ImGui::IsKeyPressed(ImGuiKey_PageDown)) viewport.scroll_pages(1);
    if (ImGui::IsKeyPressed(ImGuiKey_PageUp)) viewport.scroll_pages(-1);
  }
  if (memories_.none_recorded() && !with.state.active()->live) return no_memory_recorded(with);
  query::query_result<query::memory_map> result;
  if (moment_) result = query_.ask(*with.state.active()->engine, query(with));
  waiting_ = !result.complete && !result.failure;
  if (result) shown_ = result.value;
  colours_.update(with, shown_);
  film_.advance(with, moment_, waiting_);
  draw_controls(with);
  draw_strip(with);
  if (film_.shows_controls()) holes_.draw(with, memories_.device(), moment_, film_.slow());
  progress_line(with, !waiting_, result.progress);
  if (result.failure) return empty_state(with, icon::warning, "Not in this recording", result.failure->message);
  if (!result) return;
  draw_lost_selection(with);
  if (draw_empty_state(with)) return;
  chart_.draw(with, shown_, colours_);
}

bool memory_map_view::draw_empty_state(const view_context& with) const {
  if (!shown_->segments.empty()) return false;
  empty_state(
      with, icon::search, "No memory at this moment",
      "Nothing was allocated at " + format_moment(shown_->time) + ". Choose another moment above or on the timeline.");
  return true;
}

void memory_map_view::draw_controls(const view_context& with) {
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  command_button(with, "moment.previous", nullptr, true);
  ImGui::SameLine(0, with.px(2));
  command_button(with, film_.playing() ? "film.pause" : "film.play", nullptr, true);
  ImGui::SameLine(0, with.px(2));
  command_button(with, "moment.next", nullptr, true);
  ImGui::PopStyleVar();
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  draw_moment(with);
  draw_choices(with);
  colours_.draw_legend(with);
  if (!film_.shows_controls()) return;
  film_.draw_controls(with, moment_);
  colours_.draw_combo(with);
}

void memory_map_view::draw_moment(const view_context& with) const {
  if (!moment_) return ImGui::TextDisabled("no moment chosen");
  ImGui::TextUnformatted(format::time_point(*moment_, 1).c_str());
  std::string more;
  if (const query::memory_step* step = stepper_.find_step(*moment_)) {
    more = get_words(*step);
  } else if (!with.state.moment() && with.state.active()->live) {
    more = "now";
  } else if (memories_.chosen() != nullptr && *moment_ == memories_.chosen()->when) {
    more = "the peak";
  }
  if (more.empty()) return;
  ImGui::SameLine();
  ImGui::TextDisabled("%s", more.c_str());
}

void memory_map_view::draw_choices(const view_context& with) {
  memories_.draw_combo(with);
  chart_.viewport().draw_order_combo(with);
  place_control(ImGui::GetFrameHeight() * 3.6F);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  for (const char* id : {"map.zoom_out", "map.zoom_in", "map.fit"}) {
    command_button(with, id, nullptr, true);
    ImGui::SameLine(0, with.px(2));
  }
  ImGui::PopStyleVar();
}

void memory_map_view::draw_strip(view_context& with) {
  const document& active = *with.state.active();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (room.y < with.px(min_for_strip) || room.x < with.px(80)) return;
  const auto tracks = tracks_query_.ask(*active.engine, {});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const draw::rectangle area{at, {at.x + room.x, at.y + with.px(strip_height)}};
  ImGui::InvisibleButton("moment", {area.width(), area.height()});
  const bool held = ImGui::IsItemActive();
  const bool over = ImGui::IsItemHovered();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const time_range span{active.span.begin, std::max(active.span.end, active.span.begin + 1)};
  const trace::device_id device = memories_.device().value_or(trace::device_id::none);
  if (tracks)
    for (const query::track& each : tracks->tracks)
      if (each.kind == query::track_kind::memory && each.device == device) {
        curve_.draw(with, *active.engine, each.id, span, {area.min, {area.max.x, area.max.y - 1}}, list);
        break;
      }
  list.AddLineH(area.min.x, area.max.x, area.max.y - 1, with.colours.line);
  const row_frame axis{{}, area, span, over, ImGui::GetMousePos()};
  const auto mark = [&](time_ns time, ImU32 colour, bool handle) {
    const float x = std::floor(std::clamp(axis.to_x(time), area.min.x, area.max.x - 1));
    list.AddLineV(x, area.min.y, area.max.y - 1, colour);
    const float half = with.px(4);
    if (handle) list.AddRectFilled({x - half, area.min.y}, {x + half + 1, area.min.y + with.px(5)}, colour);
  };
  if (with.hovered_time) mark(*with.hovered_time, with.colours.muted, false);
  if (moment_) mark(*moment_, with.colours.accent, true);
  if (over || held) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  const time_ns under = axis.time_at(std::clamp(axis.mouse.x, area.min.x, area.max.x - 1));
  if (over && !held) {
    mark(under, with.colours.muted, false);
    ImGui::SetTooltip("%s", format::time_point(under, static_cast<time_ns>(axis.ns_per_pixel())).c_str());
  }
  if (held && (ImGui::IsItemActivated() || ImGui::GetIO().MouseDelta.x != 0))
    with.commands.invoke("moment.set", time_range{under, under});
}

/// If the selected block is not live at this moment, offers a link to a moment at which it is.
void memory_map_view::draw_lost_selection(const view_context& with) {
  const selection& chosen_one = with.state.selected();
  if (chosen_one.kind != selection_kind::block) return;
  const auto id = static_cast<trace::block_id>(chosen_one.id);
  for (const query::memory_map::place& each : shown_->marked)
    if (each.block == id && each.live) return;
  const auto result = selected_query_.ask(*with.state.active()->engine, {trace::event_id::none, id});
  if (!result || !result.complete || result.failure) return;
  const time_ns allocated = result->span.begin;
  if (allocated == trace::unknown_time || (allocated <= shown_->time && shown_->time < result->span.end)) return;
  ImGui::TextDisabled(
      "%s", shown_->time < allocated ? "The selected block is not allocated yet:" : "The selected block was freed:");
  ImGui::SameLine();
  if (link(with, "show it at " + format_moment(allocated)))
    with.commands.invoke("moment.set", time_range{allocated, allocated});
}

}  // namespace sluice::gui
