#pragma once

#include <optional>
#include <string>

#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Lists what the mouse and the keys do, and lets the user choose other keys for commands. Needs the objects that it
/// gets, which must outlive this object.
class keys_dialog {
 public:
  keys_dialog(command_registry& commands, settings& remembered) : commands_(commands), settings_(remembered) {}

  /// Opens the dialog, or closes it if it is open.
  void toggle() { open_ = !open_; }
  [[nodiscard]] bool is_open() const { return open_; }
  /// Returns true if the dialog was open.
  [[nodiscard]] bool close();
  /// True while the next key that the user presses is for a command in this dialog. The key must then invoke nothing.
  [[nodiscard]] bool takes_keys() const { return !new_key_for_.empty(); }
  /// Draws the dialog if it is open.
  void draw(const view_context& with);

 private:
  void draw_command_key(const view_context& with, const command& each, float column);
  void take_new_key();
  void assign(const std::string& id, std::optional<ImGuiKeyChord> chord);

  command_registry& commands_;
  settings& settings_;
  bool open_ = false;
  std::string new_key_for_;  ///< Id of the command that gets the next key pressed; empty: none.
};

}  // namespace sluice::gui
