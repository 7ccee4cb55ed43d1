// Commands of the timeline, for keys, menus and buttons.
#include <algorithm>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {

void timeline_view::add_commands(const command_home& home) {
  documents& state = home.state;
  const auto ready = [&state] { return state.ready(); };
  const auto zoom = [this, &state](double factor) {
    const time_range source = state.active()->target;
    const double middle = static_cast<double>(source.begin) + static_cast<double>(source.length()) * 0.5;
    const auto& over = axis_.hovered_time();
    const double about = over ? static_cast<double>(*over) : middle;
    const double share =
        std::clamp((about - static_cast<double>(source.begin)) / static_cast<double>(source.length()), 0.0, 1.0);
    const double length = std::max(static_cast<double>(source.length()) * factor, 2.0);
    const double begin = about - length * share;
    state.show({saturating_cast<time_ns>(begin), saturating_cast<time_ns>(begin + length)}, true);
  };
  const auto pan = [&state](double share) {
    const time_range origin = state.active()->target;
    const auto shift = saturating_cast<time_ns>(static_cast<double>(origin.length()) * share);
    state.show({saturating_sum(origin.begin, shift), saturating_sum(origin.end, shift)}, true);
  };
  home.commands.add({.id = "timeline.zoom_in",
                     .title = "Zoom in",
                     .group = "Timeline",
                     .icon = icon::zoom_in,
                     .keys = {ImGuiKey_W},
                     .repeats = true,
                     .run = [zoom](const argument&) { zoom(0.7); },
                     .enabled = ready});
  home.commands.add({.id = "timeline.zoom_out",
                     .title = "Zoom out",
                     .group = "Timeline",
                     .icon = icon::zoom_out,
                     .keys = {ImGuiKey_S},
                     .repeats = true,
                     .run = [zoom](const argument&) { zoom(1 / 0.7); },
                     .enabled = ready});
  home.commands.add({.id = "timeline.pan_left",
                     .title = "Pan left",
                     .group = "Timeline",
                     .keys = {ImGuiKey_A},
                     .repeats = true,
                     .run = [pan](const argument&) { pan(-0.12); },
                     .enabled = ready});
  home.commands.add({.id = "timeline.pan_right",
                     .title = "Pan right",
                     .group = "Timeline",
                     .keys = {ImGuiKey_D},
                     .repeats = true,
                     .run = [pan](const argument&) { pan(0.12); },
                     .enabled = ready});
  home.commands.add({.id = "timeline.fit",
                     .title = "Show all",
                     .group = "Timeline",
                     .icon = icon::fit,
                     .keys = {ImGuiKey_F},
                     .run =
                         [&state](const argument&) {
                           const time_range span = state.active()->span;
                           state.go_to({span.begin - span.length(), span.end + span.length()}, true);
                         },
                     .enabled = ready});
  home.commands.add({.id = "timeline.show_active",
                     .title = "Show active time",
                     .group = "Timeline",
                     .keys = {ImGuiMod_Shift | ImGuiKey_F},
                     .run =
                         [&state](const argument&) {
                           const time_range active = state.active()->active;
                           state.go_to(shown_range(active, active, {}), true);
                         },
                     .enabled = ready});
  home.commands.add({.id = "timeline.by_category",
                     .title = "Colour memory by category",
                     .group = "Timeline",
                     .keys = {ImGuiKey_C},
                     .run =
                         [&state, &remembered = home.remembered](const argument&) {
                           state.memory_by_category = !state.memory_by_category;
                           remembered.memory_by_category = state.memory_by_category;
                           remembered.save();
                         },
                     .enabled = ready,
                     .checked = [&state] { return state.memory_by_category; }});
  home.commands.add({.id = "timeline.zoom_to_range",
                     .title = "Zoom to selected range",
                     .group = "Timeline",
                     .keys = {ImGuiKey_Z},
                     .run =
                         [&state](const argument&) {
                           const time_range range = *state.range();
                           const time_ns air = range.length() / 30 + 1;
                           state.go_to({range.begin - air, range.end + air}, true);
                         },
                     .enabled = [&state, ready] { return ready() && state.range().has_value(); }});
  // Makes commands for views, which pass the range as the argument.
  const auto with_range = [&state](void (*act)(documents&, time_range)) {
    return [&state, act](const argument& with) {
      if (const auto* range = std::get_if<time_range>(&with); range != nullptr && range->length() > 0)
        act(state, *range);
    };
  };
  home.commands.add({.id = "timeline.show",
                     .run = with_range([](documents& s, time_range r) { s.show(r, false); }),
                     .enabled = ready});
  home.commands.add({.id = "timeline.glide",
                     .run = with_range([](documents& s, time_range r) { s.show(r, true); }),
                     .enabled = ready});
  home.commands.add({.id = "timeline.go_to",
                     .run = with_range([](documents& s, time_range r) { s.go_to(r, true); }),
                     .enabled = ready});
  home.commands.add({.id = "timeline.pan",
                     .run =
                         [pan](const argument& with) {
                           if (const auto* share = std::get_if<double>(&with)) pan(*share);
                         },
                     .enabled = ready});
  add_track_commands(home);
  stepper_.add_commands(home);
  add_query_commands(home);
}

void timeline_view::add_track_commands(const command_home& home) {
  documents& state = home.state;
  const auto ready = [&state] { return state.ready(); };
  const auto order = [this, &state]() -> track_order& { return arrangement_.order(state.active()->id); };
  // Makes commands for a track's menu, which passes the track as the argument.
  const auto with_track = [this, order](void (*act)(track_order&, std::uint64_t, const track_layout&)) {
    return [this, order, act](const argument& with) {
      if (const auto* track = std::get_if<selection>(&with); track != nullptr && track->kind == selection_kind::track)
        act(order(), track->id, layout());
    };
  };
  using layout = const track_layout&;
  home.commands.add({.id = "timeline.track_pin",
                     .run = with_track([](track_order& o, std::uint64_t id, layout) { o.toggle_pin(id); }),
                     .enabled = ready});
  home.commands.add({.id = "timeline.track_hide",
                     .run = with_track([](track_order& o, std::uint64_t id, layout) { o.hide(id); }),
                     .enabled = ready});
  home.commands.add({.id = "timeline.track_up",
                     .run = with_track([](track_order& o, std::uint64_t id, layout l) { o.move(id, -1, l); }),
                     .enabled = ready});
  home.commands.add({.id = "timeline.track_down",
                     .run = with_track([](track_order& o, std::uint64_t id, layout l) { o.move(id, 1, l); }),
                     .enabled = ready});
  home.commands.add({.id = "timeline.show_all_tracks",
                     .title = "Show all tracks",
                     .group = "Timeline",
                     .run = [order](const argument&) { order().reset(); },
                     .enabled = [order, ready] { return ready() && order().changed(); }});
  home.commands.add({.id = "timeline.group_by_process",
                     .title = "Group tracks by process",
                     .group = "Timeline",
                     .run = [order](const argument&) { order().toggle_by_process(); },
                     .enabled = ready,
                     .checked = [order, ready] { return ready() && order().by_process(); }});
}

}  // namespace sluice::gui
