#include "app/gui/shell/commands.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/lower_case.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

// Keys whose ImGui names, which are those of its constants, differ from the names shown to the user.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> key_names = {{{"LeftArrow", "Left"},
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

std::string text_of_chord(ImGuiKeyChord chord) {
  std::string text = ImGui::GetKeyChordName(chord);
  const std::size_t plus = text.rfind('+');
  const std::size_t key = plus == std::string::npos ? 0 : plus + 1;
  for (const auto& [name, sign] : key_names)
    if (text.compare(key, std::string::npos, name) == 0) text.replace(key, std::string::npos, sign);
  return text;
}

}  // namespace

void command_registry::add(command subject) {
  IM_ASSERT(find(subject.id) == nullptr);
  commands_.push_back(std::move(subject));
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
  ran_.clear();
  for (const auto& [id, with] : queued)
    if (const command* subject = find(id); subject != nullptr && enabled(*subject)) {
      if (subject->run) subject->run(with);
      ran_.push_back(id);
    }
  return !queued.empty();
}

bool command_registry::just_ran(std::string_view id) const {
  return std::find(ran_.begin(), ran_.end(), id) != ran_.end();
}

void command_registry::take_keys() const {
  // While a menu or pop-up is open, it gets all keys; Escape closes it.
  if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) return;
  for (const command& subject : commands_)
    for (const ImGuiKeyChord chord : subject.keys) {
      const ImGuiInputFlags flags =
          ImGuiInputFlags_RouteGlobal | (subject.repeats ? ImGuiInputFlags_Repeat : ImGuiInputFlags_None);
      if (ImGui::Shortcut(chord, flags)) invoke(subject.id);
    }
}

void command_registry::set_key(std::string_view id, std::optional<ImGuiKeyChord> key) {
  const auto found = std::find_if(commands_.begin(), commands_.end(), [id](const command& c) { return c.id == id; });
  if (found == commands_.end()) return;
  found->keys.clear();
  if (key) found->keys.push_back(*key);
  found->remapped = true;
}

int match_score(const command& subject, std::string_view typed) {
  const std::string wanted = lower_case(std::string(typed));
  const std::string title = lower_case(subject.group + " " + subject.title);
  const std::string text = title + " " + lower_case(subject.words);
  std::istringstream words(wanted);
  bool each_occurs = true;
  for (std::string word; words >> word;) each_occurs = each_occurs && text.find(word) != std::string::npos;
  if (each_occurs) return 2;
  std::size_t at = 0;
  for (const char c : title)
    if (at < wanted.size() && c == wanted[at]) ++at;
  return at == wanted.size() ? 1 : 0;
}

std::string key_text(const command& subject) {
  return subject.keys.empty() ? std::string() : text_of_chord(subject.keys.front());
}

std::optional<ImGuiKeyChord> parse_chord(std::string_view text) {
  ImGuiKeyChord chord = 0;
  for (const auto& [name, modifier] : {std::pair{std::string_view("Ctrl+"), ImGuiMod_Ctrl},
                                       {"Shift+", ImGuiMod_Shift},
                                       {"Alt+", ImGuiMod_Alt},
                                       {"Super+", ImGuiMod_Super}})
    if (text.starts_with(name)) {
      chord |= modifier;
      text.remove_prefix(name.size());
    }
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; ++key)
    if (text_of_chord(key) == text) return chord | key;
  return std::nullopt;
}

}  // namespace sluice::gui
