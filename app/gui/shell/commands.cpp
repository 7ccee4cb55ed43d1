#include "app/gui/shell/commands.hpp"

#include <algorithm>
#include <utility>

#include "imgui_internal.h"

namespace sluice::gui {

void command_registry::add(command what) {
  IM_ASSERT(find(what.id) == nullptr);
  commands_.push_back(std::move(what));
}

const command* command_registry::find(std::string_view id) const {
  const auto found = std::find_if(commands_.begin(), commands_.end(), [id](const command& c) { return c.id == id; });
  return found == commands_.end() ? nullptr : &*found;
}

void command_registry::invoke(std::string_view id, argument with) const {
  queue_.emplace_back(std::string(id), std::move(with));
}

bool command_registry::run_queued() {
  const auto queued = std::exchange(queue_, {});
  for (const auto& [id, with] : queued)
    if (const command* what = find(id); what != nullptr && enabled(*what)) what->run(with);
  return !queued.empty();
}

void command_registry::take_keys() const {
  for (const command& what : commands_)
    for (const ImGuiKeyChord chord : what.keys) {
      const ImGuiInputFlags flags =
          ImGuiInputFlags_RouteGlobal | (what.repeats ? ImGuiInputFlags_Repeat : ImGuiInputFlags_None);
      if (ImGui::Shortcut(chord, flags)) invoke(what.id);
    }
}

std::string key_text(const command& what) {
  return what.keys.empty() ? std::string() : std::string(ImGui::GetKeyChordName(what.keys.front()));
}

}  // namespace sluice::gui
