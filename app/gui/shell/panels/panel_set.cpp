#include "app/gui/shell/panels/panel_set.hpp"

#include "app/gui/views/views.hpp"
#include "core/base/lower_case.hpp"

namespace sluice::gui {
namespace {

/// The name of a view on the command line: "memory-map" for "Memory map", which needs no quotes.
std::string option_name(const view& named) {
  std::string name = lower_case(named.name());
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

}  // namespace

panel_set::panel_set(const std::function<void()>& wake, const settings& remembered)
    : views_(make_views(wake, remembered)) {
  show_initial();
}

view* panel_set::find(std::string_view name) const {
  const auto found = std::find_if(views_.begin(), views_.end(),
                                  [name](const auto& each) { return option_name(*each) == lower_case(name); });
  return found == views_.end() ? nullptr : found->get();
}

std::vector<std::string> panel_set::names() const {
  std::vector<std::string> names;
  for (const auto& each : views_) names.push_back(option_name(*each));
  return names;
}

void panel_set::show_initial() {
  for (const auto& each : views_) each->visible = each->info.shown_at_first;
}

bool panel_set::warns(std::string_view panel) const {
  return std::any_of(views_.begin(), views_.end(),
                     [panel](const auto& each) { return each->name() == panel && each->status().warns; });
}

bool panel_set::busy() const {
  return std::any_of(views_.begin(), views_.end(), [](const auto& each) { return each->status().busy; });
}

bool panel_set::playing() const {
  return std::any_of(views_.begin(), views_.end(), [](const auto& each) { return each->status().playing; });
}

view* panel_set::cancellable() const {
  const auto found =
      std::find_if(views_.begin(), views_.end(), [](const auto& each) { return each->status().can_cancel; });
  return found == views_.end() ? nullptr : found->get();
}

std::optional<time_ns> panel_set::hovered_time() const {
  for (const auto& each : views_)
    if (const auto hovered = each->status().hovered_time) return hovered;
  return std::nullopt;
}

void panel_set::add_commands(const command_home& home) {
  for (const auto& each : views_) {
    const panel_info::opener& open = each->info.open;
    if (*open.id != '\0')
      home.commands.add({.id = open.id,
                         .title = open.title,
                         .group = open.group,
                         .icon = open.icon,
                         .keys = open.key == 0 ? std::vector<ImGuiKeyChord>{} : std::vector<ImGuiKeyChord>{open.key},
                         .run = [&commands = home.commands, focus = std::string("panel.focus.") + each->name()](
                                    const argument&) { commands.invoke(focus); },
                         .enabled = [&state = home.state] { return state.ready(); }});
    each->add_commands(home);
  }
}

void panel_set::follow(const view_context& with) {
  for (const auto& each : views_) each->follow(with);
}

bool panel_set::follow_document(document_id active) {
  if (active == document_) return false;
  document_ = active;
  for (const auto& each : views_) each->reset();
  return true;
}

kept_view panel_set::keep(document_id document) const {
  kept_view kept;
  for (const auto& each : views_) each->keep(document, kept);
  return kept;
}

void panel_set::restore(const view_context& with, const kept_view& kept) {
  for (const auto& each : views_) each->restore(with, kept);
}

}  // namespace sluice::gui
