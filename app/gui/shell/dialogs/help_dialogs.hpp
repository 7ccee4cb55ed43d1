#pragma once

#include "app/gui/shell/dialogs/keys_dialog.hpp"

namespace sluice::gui {

/// The dialogs of the Help menu: keys, glossary, and about the program.
class help_dialogs {
 public:
  /// `commands` and `remembered` must outlive this object.
  help_dialogs(command_registry& commands, settings& remembered) : keys_(commands, remembered) {}

  /// Adds the commands that open the dialogs. This object must outlive them.
  void add_commands(command_registry& commands);
  /// See `keys_dialog::takes_keys`.
  [[nodiscard]] bool takes_keys() const { return keys_.takes_keys(); }
  /// True if a dialog is open.
  [[nodiscard]] bool is_open() const { return keys_.is_open() || glossary_open_ || about_open_; }
  /// Closes one dialog. Returns false if none was open.
  [[nodiscard]] bool close_one();
  void draw(const view_context& with);

 private:
  void draw_glossary(const view_context& with);
  void draw_about(const view_context& with);

  keys_dialog keys_;
  bool glossary_open_ = false;
  bool about_open_ = false;
};

}  // namespace sluice::gui
