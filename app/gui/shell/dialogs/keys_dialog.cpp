#include "app/gui/shell/dialogs/keys_dialog.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/gui/views/parts/dialog_window.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "imgui_internal.h"

namespace sluice::gui {

bool keys_dialog::close() { return std::exchange(open_, false); }

void keys_dialog::draw(const view_context& with) {
  if (!open_) return;
  if (begin_dialog(with, "Keyboard and mouse", &open_)) {
    const float column = with.px(150);
    heading(with, "Mouse on the timeline");
    tip_field(with, "wheel", "zoom around the cursor", column);
    tip_field(with, "Ctrl + wheel", "scroll the tracks (over their names, the wheel alone is enough)", column);
    tip_field(with, "Shift + wheel", "pan", column);
    tip_field(with, "click", "select a box; the memory map shows that moment", column);
    tip_field(with, "drag", "select a range", column);
    tip_field(with, "right drag", "pan; also with the middle button", column);
    tip_field(with, "double-click", "zoom to a box; on memory, list its blocks; elsewhere, show all", column);
    heading(with, "Keys on the timeline (click it first)");
    tip_field(with, "Left, Right", "pan", column);
    tip_field(with, "Up, Down", "scroll the tracks", column);
    heading(with, "Rows of tables (click one first)");
    tip_field(with, "Up, Down", "move to another row", column);
    tip_field(with, "Shift + Up, Down", "select rows; also Shift + click, or Ctrl + click to add one", column);
    tip_field(with, "Menu, Shift+F10", "open the row's menu; also a right click, as on boxes", column);
    heading(with, "Command keys: click one, then press the new key");
    for (const command& each : commands_.all())
      if (!each.title.empty() && (!each.keys.empty() || each.remapped)) draw_command_key(with, each, column);
    take_new_key();
  } else {
    new_key_for_.clear();
  }
  end_dialog();
}

void keys_dialog::draw_command_key(const view_context& with, const command& each, float column) {
  const float left = ImGui::GetCursorPosX();
  ImGui::PushID(each.id.c_str());
  const std::string text = each.id == new_key_for_ ? "press a key" : key_text(each);
  if (link(with, text.empty() ? "no key" : text)) new_key_for_ = each.id;
  ImGui::SameLine(left + column);
  ImGui::TextUnformatted(each.title.c_str());
  ImGui::PopID();
}

/// Assigns the next key pressed to the command that waits for one. Escape changes nothing; Backspace removes the
/// command's key.
void keys_dialog::take_new_key() {
  if (new_key_for_.empty()) return;
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; ++key) {
    const auto pressed = static_cast<ImGuiKey>(key);
    const bool modifier = pressed >= ImGuiKey_LeftCtrl && pressed <= ImGuiKey_RightSuper;
    if (modifier || ImGui::IsMouseKey(pressed) || key >= ImGuiKey_GamepadStart || !ImGui::IsKeyPressed(pressed, false))
      continue;
    const std::string id = std::exchange(new_key_for_, {});
    if (pressed == ImGuiKey_Escape) return;
    std::optional<ImGuiKeyChord> chord = ImGui::GetIO().KeyMods | key;
    if (pressed == ImGuiKey_Backspace) chord.reset();
    return assign(id, chord);
  }
}

/// Gives the key to the command `id`, and takes the key away from any other command. Null: the command gets no key.
void keys_dialog::assign(const std::string& id, std::optional<ImGuiKeyChord> chord) {
  for (const command& each : commands_.all())
    if (chord && each.id != id && std::find(each.keys.begin(), each.keys.end(), *chord) != each.keys.end()) {
      settings_.keys[each.id] = "";
      commands_.set_key(each.id, std::nullopt);
    }
  commands_.set_key(id, chord);
  settings_.keys[id] = key_text(*commands_.find(id));
  settings_.save();
}

}  // namespace sluice::gui
