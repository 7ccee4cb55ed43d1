#pragma once

#include "app/gui/shell/dialogs/command_palette.hpp"
#include "app/gui/shell/dialogs/help_dialogs.hpp"
#include "app/gui/shell/files/close_confirmation.hpp"
#include "app/gui/shell/files/file_choosers.hpp"
#include "app/gui/shell/programs/recorder_control.hpp"
#include "app/gui/views/parts/notice_bar.hpp"

namespace sluice::gui {

/// Everything above the panels: the command palette, the dialogs and the notices. Draws them in one order, and closes
/// them in another. Needs the objects that it gets, which must outlive this object and the commands.
class overlays {
 public:
  /// The objects that this one uses.
  struct home {
    command_registry& commands;
    settings& remembered;
    file_choosers& choosers;
    recorder_control& recorder;
    close_confirmation& confirmation;
    notice_bar& notices;
  };
  explicit overlays(const home& used) : home_(used), help_(used.commands, used.remembered) {}

  void add_palette_commands(command_registry& commands) { palette_.add_commands(commands); }
  void add_help_commands(command_registry& commands) { help_.add_commands(commands); }
  void draw(const view_context& with);
  /// True while a dialog takes the keys, which must then invoke no commands.
  [[nodiscard]] bool takes_keys() const { return help_.takes_keys(); }
  /// True if there is something that `close_topmost` would close.
  [[nodiscard]] bool any_open() const;
  /// Closes the topmost dialog or notice. Returns false if there is none, or only a report that something was done.
  [[nodiscard]] bool close_topmost();

 private:
  home home_;
  command_palette palette_;
  help_dialogs help_;
};

}  // namespace sluice::gui
