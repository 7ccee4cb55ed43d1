#include "app/gui/views/timeline/event_stepper.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"

namespace sluice::gui {

void event_stepper::add_commands(const command_home& home) {
  static constexpr auto event_selected = [](auto& at) {
    return at.state.ready() && at.state.selected().kind == selection_kind::event;
  };
  static constexpr command_row<acts_on<event_stepper>> rows[] = {
      {.id = "timeline.next_same",
       .title = "Next event with the same name",
       .group = "Timeline",
       .keys = {ImGuiKey_N},
       .repeats = true,
       .run = [](auto& at, auto&) { at.self.step(at.state, query::same_name::next); },
       .enabled = event_selected},
      {.id = "timeline.previous_same",
       .title = "Previous event with the same name",
       .group = "Timeline",
       .keys = {ImGuiMod_Shift | ImGuiKey_N},
       .repeats = true,
       .run = [](auto& at, auto&) { at.self.step(at.state, query::same_name::previous); },
       .enabled = event_selected}};
  home.commands.add(rows, acts_on<event_stepper>{home, *this});
}

void event_stepper::step(const documents& state, query::same_name which) {
  wanted_ = query::details_query{static_cast<trace::event_id>(state.selected().id), trace::block_id::none, which};
}

void event_stepper::reset() {
  query_ = {};
  wanted_.reset();
}

void event_stepper::follow(const view_context& with) {
  if (!wanted_) return;
  const document& shown = *with.state.active();
  const auto found = query_.ask(*shown.engine, *wanted_);
  if (!found.complete && !found.failure) return;
  wanted_.reset();
  if (!found || found->event == trace::event_id::none) return;
  with.commands.invoke("selection.set", selection{shown.id, selection_kind::event, trace::raw(found->event)});
  const time_range span = found->span;
  if (span.begin >= shown.visible.begin && span.end <= shown.visible.end) return;
  // Keep the width of the view and put the event in its middle, so that all such steps look the same.
  const time_ns half = std::max(shown.visible.length(), span.length() * 2) / 2;
  const time_ns middle = span.begin + span.length() / 2;
  with.commands.invoke("timeline.glide", time_range{saturating_sum(middle, -half), saturating_sum(middle, half)});
}

}  // namespace sluice::gui
