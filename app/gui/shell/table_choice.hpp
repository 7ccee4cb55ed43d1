#pragma once

#include <vector>

namespace sluice::gui {

/// Which of the tables on the screen a command of a menu is about: while a menu is open, no row has the focus. Ids are
/// those of ImGui; 0 is none.
class table_choice {
 public:
  /// Begins a frame: the tables noted in the last one are those on the screen.
  void begin_frame();
  /// The panel draws a row of the table. Call for each row.
  void note(unsigned table, unsigned panel) {
    if (drawing_.empty() || drawing_.back().table != table) drawing_.push_back({table, panel});
  }
  /// The user chose a row of the table.
  void choose(unsigned table) { chosen_ = table; }
  /// The table that a row was chosen in last, if the user has not turned to another panel since.
  [[nodiscard]] unsigned of_chosen_row() const;
  /// That table, or else the first one of the panel used last, or else one of those on the screen.
  [[nodiscard]] unsigned nearest() const;

 private:
  struct drawn {
    unsigned table;
    unsigned panel;
  };
  [[nodiscard]] unsigned in(unsigned panel) const;

  std::vector<drawn> drawing_;
  std::vector<drawn> on_screen_;
  unsigned chosen_ = 0;
};

/// What menus want of a table in this frame. The application sets it, and the table takes it.
struct table_requests {
  table_choice choice;
  unsigned to_copy = 0;    ///< The table of which to copy the chosen row, or the selected ones.
  unsigned to_select = 0;  ///< All of its rows.
  unsigned to_save = 0;
};

}  // namespace sluice::gui
