#pragma once

#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/dialogs/overlays.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/followed_item.hpp"
#include "app/gui/shell/panels/panel_focus.hpp"
#include "app/gui/shell/panels/panel_set.hpp"
#include "app/gui/shell/screen_text.hpp"

namespace sluice::gui {

/// The commands that change the selection, go back in its history, and bring the selected item onto the screen. Needs
/// the objects that it gets, which must outlive this object and the commands.
class selection_commands {
 public:
  selection_commands(documents& session, const panel_set& panels, const panel_focus& focus, overlays& above)
      : session_(session), panels_(panels), focus_(focus), overlays_(above) {}

  void add(command_registry& commands);
  /// Moves the view to the selected item once the query for the item's time is complete. Call once per frame.
  void follow();
  /// True until `follow` has moved the view.
  [[nodiscard]] bool revealing() const { return revealing_; }
  /// Discards the results of queries. Call when another document becomes active.
  void reset() {
    reveal_query_ = {};
    item_.reset();
  }
  [[nodiscard]] const followed_item& item() const { return item_; }

 private:
  /// Closes what is topmost, or cancels a view's work, or clears the selection.
  void clear();
  [[nodiscard]] bool can_clear() const;

  documents& session_;
  const panel_set& panels_;
  const panel_focus& focus_;
  overlays& overlays_;
  followed_item item_;
  screen_slot<query::details_query> reveal_query_;
  bool revealing_ = false;
  bool reveal_is_step_ = true;  ///< True: going back undoes only the move. False: going back also undoes the selection
                                ///< for which the view moved.
};

}  // namespace sluice::gui
