// Commands of the timeline, for keys, menus and buttons.
#include <algorithm>

#include "app/gui/views/shown_range.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/saturating.hpp"

namespace sluice::gui {

void timeline_view::add_commands(const command_home& home) {
  documents& state = home.state;
  const auto ready = [&state] { return state.ready(); };
  const auto zoom = [this, &state](double factor) {
    const time_range from = state.active()->target;
    const double middle = static_cast<double>(from.begin) + static_cast<double>(from.length()) * 0.5;
    const auto& over = hovered_time_;
    const double about = over ? static_cast<double>(*over) : middle;
    const double share =
        std::clamp((about - static_cast<double>(from.begin)) / static_cast<double>(from.length()), 0.0, 1.0);
    const double length = std::max(static_cast<double>(from.length()) * factor, 2.0);
    const double begin = about - length * share;
    state.show({saturating_cast<time_ns>(begin), saturating_cast<time_ns>(begin + length)}, true);
  };
  const auto pan = [&state](double share) {
    const time_range from = state.active()->target;
    const auto shift = saturating_cast<time_ns>(static_cast<double>(from.length()) * share);
    state.show({saturating_sum(from.begin, shift), saturating_sum(from.end, shift)}, true);
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
  add_query_commands(home);
}

void timeline_view::add_track_commands(const command_home& home) {
  documents& state = home.state;
  const auto ready = [&state] { return state.ready(); };
  // Makes commands for a track's menu, which passes the track as the argument.
  const auto with_track = [this, &state](void (*act)(track_order&, std::uint64_t, const track_layout&)) {
    return [this, &state, act](const argument& with) {
      if (const auto* track = std::get_if<selection>(&with); track != nullptr && track->kind == selection_kind::track)
        act(order(state), track->id, layout_);
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
                     .run = [this, &state](const argument&) { order(state).reset(); },
                     .enabled = [this, &state, ready] { return ready() && order(state).changed(); }});
  home.commands.add({.id = "timeline.group_by_process",
                     .title = "Group tracks by process",
                     .group = "Timeline",
                     .run = [this, &state](const argument&) { order(state).toggle_by_process(); },
                     .enabled = ready,
                     .checked = [this, &state, ready] { return ready() && order(state).by_process(); }});
  const auto step = [this, &state](query::same_name which) {
    return [this, &state, which](const argument&) {
      step_ = query::details_query{static_cast<trace::event_id>(state.selected().id), trace::block_id::none, which};
    };
  };
  const auto event_selected = [&state, ready] { return ready() && state.selected().kind == selection_kind::event; };
  home.commands.add({.id = "timeline.next_same",
                     .title = "Next event with the same name",
                     .group = "Timeline",
                     .keys = {ImGuiKey_N},
                     .repeats = true,
                     .run = step(query::same_name::next),
                     .enabled = event_selected});
  home.commands.add({.id = "timeline.previous_same",
                     .title = "Previous event with the same name",
                     .group = "Timeline",
                     .keys = {ImGuiMod_Shift | ImGuiKey_N},
                     .repeats = true,
                     .run = step(query::same_name::previous),
                     .enabled = event_selected});
}

}  // namespace sluice::gui
