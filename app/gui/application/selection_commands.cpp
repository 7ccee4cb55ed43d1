#include "app/gui/application/selection_commands.hpp"

#include "app/gui/shell/shown_range.hpp"

namespace sluice::gui {
namespace {

bool is_event_or_block(const selection& chosen) {
  return chosen.kind == selection_kind::event || chosen.kind == selection_kind::block;
}

query::details_query details_of_selection(const selection& chosen) {
  query::details_query wanted;
  if (chosen.kind == selection_kind::event) {
    wanted.event = static_cast<trace::event_id>(chosen.id);
  } else {
    wanted.block = static_cast<trace::block_id>(chosen.id);
  }
  return wanted;
}

}  // namespace

void selection_commands::add(command_registry& commands) {
  add_history_commands(commands);
  add_choice_commands(commands);
}

void selection_commands::add_history_commands(command_registry& commands) {
  commands.add({.id = "selection.back",
                .title = "Back",
                .group = "Analyze",
                .icon = icon::back,
                .keys = {ImGuiMod_Alt | ImGuiKey_LeftArrow},
                .run = [this](const argument&) { session_.back(); },
                .enabled = [this] { return session_.history().can_go_back(); }});
  commands.add({.id = "selection.forward",
                .title = "Forward",
                .group = "Analyze",
                .icon = icon::forward,
                .keys = {ImGuiMod_Alt | ImGuiKey_RightArrow},
                .run = [this](const argument&) { session_.forward(); },
                .enabled = [this] { return session_.history().can_go_forward(); }});
}

void selection_commands::add_choice_commands(command_registry& commands) {
  const auto ready = [this] { return session_.ready(); };
  commands.add({.id = "selection.reveal",
                .title = "Zoom to selection",
                .group = "Analyze",
                .icon = icon::search,
                .keys = {ImGuiKey_E},
                .run =
                    [this](const argument&) {
                      revealing_ = true;
                      reveal_is_step_ = !session_.history().in_step();
                    },
                .enabled = [this] { return session_.ready() && is_event_or_block(session_.selected()); }});
  commands.add({.id = "selection.clear",
                .title = "Clear selection",
                .group = "Analyze",
                .keys = {ImGuiKey_Escape},
                .run = [this](const argument&) { clear(); },
                .enabled = [this] { return overlays_.any_open() || panels_.cancellable() != nullptr || can_clear(); }});
  commands.add({.id = "selection.set",
                .run =
                    [this](const argument& with) {
                      const auto* chosen = std::get_if<selection>(&with);
                      if (chosen == nullptr) return;
                      session_.select(*chosen);
                      if (is_event_or_block(*chosen)) focus_.bring_forward(topic::selection);
                    },
                .enabled = ready});
  // Used by links in a panel that should stay in front.
  commands.add({.id = "selection.mark",
                .run =
                    [this](const argument& with) {
                      if (const auto* range = std::get_if<time_range>(&with); range != nullptr && range->length() > 0)
                        session_.mark(*range);
                    },
                .enabled = ready});
  commands.add({.id = "selection.range",
                .run =
                    [this](const argument& with) {
                      const auto* range = std::get_if<time_range>(&with);
                      if (range == nullptr || range->length() <= 0) return;
                      session_.select_range(*range);
                      focus_.bring_forward(topic::range);
                    },
                .enabled = ready});
}

void selection_commands::clear() {
  if (overlays_.close_topmost()) return;
  if (view* at_work = panels_.cancellable()) return at_work->cancel();
  if (can_clear()) session_.select_nothing();
}

bool selection_commands::can_clear() const {
  return session_.ready() &&
         (session_.range() || session_.moment() || session_.selected().kind != selection_kind::none);
}

void selection_commands::follow() {
  if (!revealing_) return;
  document* shown = session_.active();
  const selection chosen = session_.selected();
  if (shown == nullptr || !shown->engine || !is_event_or_block(chosen)) {
    revealing_ = false;
    return;
  }
  const auto details = reveal_query_.ask(*shown->engine, details_of_selection(chosen));
  if (details.failure) revealing_ = false;
  if (!details || !details.complete) return;
  revealing_ = false;
  const time_range around = shown_around(details->span, shown->active);
  if (reveal_is_step_) {
    session_.go_to(around, true);
  } else {
    session_.show(around, true);
  }
  session_.reveal(chosen, details->span, details->track);
  focus_.bring_forward(topic::selection);
}

}  // namespace sluice::gui
