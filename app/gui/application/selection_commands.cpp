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
  static constexpr auto ready = [](auto& at) { return at->session_.ready(); };
  static constexpr command_row<selection_commands*> rows[] = {
      {.id = "selection.back",
       .title = "Back",
       .group = "Analyze",
       .icon = icon::back,
       .keys = {ImGuiMod_Alt | ImGuiKey_LeftArrow},
       .run = [](auto& at, auto&) { at->session_.back(); },
       .enabled = [](auto& at) { return at->session_.history().can_go_back(); }},
      {.id = "selection.forward",
       .title = "Forward",
       .group = "Analyze",
       .icon = icon::forward,
       .keys = {ImGuiMod_Alt | ImGuiKey_RightArrow},
       .run = [](auto& at, auto&) { at->session_.forward(); },
       .enabled = [](auto& at) { return at->session_.history().can_go_forward(); }},
      {.id = "selection.reveal",
       .title = "Zoom to selection",
       .group = "Analyze",
       .icon = icon::search,
       .keys = {ImGuiKey_E},
       .run =
           [](auto& at, auto&) {
             at->revealing_ = true;
             at->reveal_is_step_ = !at->session_.history().in_step();
           },
       .enabled = [](auto& at) { return at->session_.ready() && is_event_or_block(at->session_.selected()); }},
      {.id = "selection.clear",
       .title = "Clear selection",
       .group = "Analyze",
       .keys = {ImGuiKey_Escape},
       .run = [](auto& at, auto&) { at->clear(); },
       .enabled =
           [](auto& at) {
             return at->overlays_.any_open() || at->panels_.cancellable() != nullptr || at->can_clear();
           }},
      {.id = "selection.set",
       .run =
           [](auto& at, auto& with) {
             const auto* chosen = std::get_if<selection>(&with);
             if (chosen == nullptr) return;
             at->session_.select(*chosen);
             if (is_event_or_block(*chosen)) at->focus_.bring_forward(topic::selection);
           },
       .enabled = ready},
      // Used by links in a panel that should stay in front.
      {.id = "selection.mark",
       .run =
           [](auto& at, auto& with) {
             const auto* range = std::get_if<time_range>(&with);
             if (range != nullptr && range->length() > 0) at->session_.mark(*range);
           },
       .enabled = ready},
      {.id = "selection.range",
       .run =
           [](auto& at, auto& with) {
             const auto* range = std::get_if<time_range>(&with);
             if (range == nullptr || range->length() <= 0) return;
             at->session_.select_range(*range);
             at->focus_.bring_forward(topic::range);
           },
       .enabled = ready}};
  commands.add(rows, this);
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
  item_.follow(session_);
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
