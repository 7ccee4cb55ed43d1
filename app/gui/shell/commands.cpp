#include "app/gui/shell/commands.hpp"

#include <algorithm>
#include <array>
#include <string_view>
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
  // Keys belong to an open menu or pop-up, which Escape closes.
  if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) return;
  for (const command& what : commands_)
    for (const ImGuiKeyChord chord : what.keys) {
      const ImGuiInputFlags flags =
          ImGuiInputFlags_RouteGlobal | (what.repeats ? ImGuiInputFlags_Repeat : ImGuiInputFlags_None);
      if (ImGui::Shortcut(chord, flags)) invoke(what.id);
    }
}

std::string key_text(const command& what) {
  if (what.keys.empty()) return {};
  // ImGui's names of these keys are those of its constants.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> names = {
      {{"LeftArrow", "Left"},
       {"RightArrow", "Right"},
       {"UpArrow", "Up"},
       {"DownArrow", "Down"},
       {"KeypadAdd", "Keypad +"},
       {"KeypadSubtract", "Keypad -"},
       {"Equal", "="},
       {"Minus", "-"},
       {"Comma", ","},
       {"Period", "."},
       {"Slash", "/"},
       {"Semicolon", ";"},
       {"LeftBracket", "["},
       {"RightBracket", "]"},
       {"Apostrophe", "'"},
       {"GraveAccent", "`"}}};
  std::string text = ImGui::GetKeyChordName(what.keys.front());
  const std::size_t plus = text.rfind('+');
  const std::size_t key = plus == std::string::npos ? 0 : plus + 1;
  for (const auto& [name, sign] : names)
    if (text.compare(key, std::string::npos, name) == 0) text.replace(key, std::string::npos, sign);
  return text;
}

}  // namespace sluice::gui
