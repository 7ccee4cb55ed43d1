// Commands of the timeline, for keys, menus and buttons.
#include <algorithm>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {

namespace {

/// Calls `act(range)` for the range that a view passes as the argument.
template <class Act>
void with_range(const argument& with, Act&& act) {
  if (const auto* range = std::get_if<time_range>(&with); range != nullptr && range->length() > 0) act(*range);
}

/// Calls `act(id)` for the track whose menu invokes the command.
template <class Act>
void with_track(const argument& with, Act&& act) {
  if (const auto* track = std::get_if<selection>(&with); track != nullptr && track->kind == selection_kind::track)
    act(track->id);
}

void pan(documents& state, double share) {
  const time_range origin = state.active()->target;
  const auto shift = saturating_cast<time_ns>(static_cast<double>(origin.length()) * share);
  state.show({saturating_sum(origin.begin, shift), saturating_sum(origin.end, shift)}, true);
}

}  // namespace

/// Zooms around the mouse or, if it is elsewhere, around the middle.
void timeline_view::zoom(documents& state, double factor) const {
  const time_range source = state.active()->target;
  const double middle = static_cast<double>(source.begin) + static_cast<double>(source.length()) * 0.5;
  const auto& over = axis_.hovered_time();
  const double about = over ? static_cast<double>(*over) : middle;
  const double share =
      std::clamp((about - static_cast<double>(source.begin)) / static_cast<double>(source.length()), 0.0, 1.0);
  const double length = std::max(static_cast<double>(source.length()) * factor, 2.0);
  const double begin = about - length * share;
  state.show({saturating_cast<time_ns>(begin), saturating_cast<time_ns>(begin + length)}, true);
}

void timeline_view::add_commands(const command_home& home) {
  static constexpr command_row<acts_on<timeline_view>> rows[] = {
      {.id = "timeline.zoom_in",
       .title = "Zoom in",
       .group = "Timeline",
       .icon = icon::zoom_in,
       .keys = {ImGuiKey_W},
       .repeats = true,
       .run = [](auto& at, auto&) { at.self.zoom(at.state, 0.7); },
       .enabled = when_ready},
      {.id = "timeline.zoom_out",
       .title = "Zoom out",
       .group = "Timeline",
       .icon = icon::zoom_out,
       .keys = {ImGuiKey_S},
       .repeats = true,
       .run = [](auto& at, auto&) { at.self.zoom(at.state, 1 / 0.7); },
       .enabled = when_ready},
      {.id = "timeline.pan_left",
       .title = "Pan left",
       .group = "Timeline",
       .keys = {ImGuiKey_A},
       .repeats = true,
       .run = [](auto& at, auto&) { pan(at.state, -0.12); },
       .enabled = when_ready},
      {.id = "timeline.pan_right",
       .title = "Pan right",
       .group = "Timeline",
       .keys = {ImGuiKey_D},
       .repeats = true,
       .run = [](auto& at, auto&) { pan(at.state, 0.12); },
       .enabled = when_ready},
      {.id = "timeline.fit",
       .title = "Show all",
       .group = "Timeline",
       .icon = icon::fit,
       .keys = {ImGuiKey_F},
       .run =
           [](auto& at, auto&) {
             const time_range span = at.state.active()->span;
             at.state.go_to({span.begin - span.length(), span.end + span.length()}, true);
           },
       .enabled = when_ready},
      {.id = "timeline.show_active",
       .title = "Show active time",
       .group = "Timeline",
       .keys = {ImGuiMod_Shift | ImGuiKey_F},
       .run =
           [](auto& at, auto&) {
             const time_range active = at.state.active()->active;
             at.state.go_to(shown_range(active, active, {}), true);
           },
       .enabled = when_ready},
      {.id = "timeline.by_category",
       .title = "Colour memory by category",
       .group = "Timeline",
       .keys = {ImGuiKey_C},
       .run =
           [](auto& at, auto&) {
             at.state.memory_by_category = !at.state.memory_by_category;
             at.remembered.memory_by_category = at.state.memory_by_category;
             at.remembered.save();
           },
       .enabled = when_ready,
       .checked = [](auto& at) { return bool{at.state.memory_by_category}; }},
      {.id = "timeline.zoom_to_range",
       .title = "Zoom to selected range",
       .group = "Timeline",
       .keys = {ImGuiKey_Z},
       .run =
           [](auto& at, auto&) {
             const time_range range = *at.state.range();
             const time_ns air = range.length() / 30 + 1;
             at.state.go_to({range.begin - air, range.end + air}, true);
           },
       .enabled = [](auto& at) { return at.state.ready() && at.state.range().has_value(); }},
      {.id = "timeline.map_at_mouse",
       .title = "Memory map at the time under the mouse",
       .group = "Timeline",
       .keys = {ImGuiKey_M},
       .run =
           [](auto& at, auto&) {
             if (const auto& time = at.self.axis_.hovered_time()) at.state.set_moment(*time);
             at.commands.invoke("map.open");
           },
       .enabled = when_ready},
      {.id = "timeline.show",
       .run = [](auto& at, auto& with) { with_range(with, [&](time_range range) { at.state.show(range, false); }); },
       .enabled = when_ready},
      {.id = "timeline.glide",
       .run = [](auto& at, auto& with) { with_range(with, [&](time_range range) { at.state.show(range, true); }); },
       .enabled = when_ready},
      {.id = "timeline.go_to",
       .run = [](auto& at, auto& with) { with_range(with, [&](time_range range) { at.state.go_to(range, true); }); },
       .enabled = when_ready},
      {.id = "timeline.pan",
       .run =
           [](auto& at, auto& with) {
             if (const auto* share = std::get_if<double>(&with)) pan(at.state, *share);
           },
       .enabled = when_ready}};
  home.commands.add(rows, acts_on<timeline_view>{home, *this});
  add_track_commands(home);
  stepper_.add_commands(home);
  add_query_commands(home);
}

void timeline_view::add_track_commands(const command_home& home) {
  static constexpr command_row<acts_on<timeline_view>> rows[] = {
      {.id = "timeline.track_pin",
       .run = [](auto& at, auto& with) { with_track(with, [&](auto id) { at.self.order(at.state).toggle_pin(id); }); },
       .enabled = when_ready},
      {.id = "timeline.track_hide",
       .run = [](auto& at, auto& with) { with_track(with, [&](auto id) { at.self.order(at.state).hide(id); }); },
       .enabled = when_ready},
      {.id = "timeline.track_up",
       .run =
           [](auto& at, auto& with) {
             with_track(with, [&](auto id) { at.self.order(at.state).move(id, -1, at.self.layout()); });
           },
       .enabled = when_ready},
      {.id = "timeline.track_down",
       .run =
           [](auto& at, auto& with) {
             with_track(with, [&](auto id) { at.self.order(at.state).move(id, 1, at.self.layout()); });
           },
       .enabled = when_ready},
      {.id = "timeline.show_all_tracks",
       .title = "Show all tracks",
       .group = "Timeline",
       .run = [](auto& at, auto&) { at.self.order(at.state).reset(); },
       .enabled = [](auto& at) { return at.state.ready() && at.self.order(at.state).changed(); }},
      {.id = "timeline.group_by_process",
       .title = "Group tracks by process",
       .group = "Timeline",
       .run = [](auto& at, auto&) { at.self.order(at.state).toggle_by_process(); },
       .enabled = when_ready,
       .checked = [](auto& at) { return at.state.ready() && at.self.order(at.state).by_process(); }}};
  home.commands.add(rows, acts_on<timeline_view>{home, *this});
}

track_order& timeline_view::order(const documents& state) { return arrangement_.order(state.active()->id); }

}  // namespace sluice::gui
