#pragma once

#include <vector>

namespace sluice::gui {

/// Determines to which table on the screen a menu command applies, because no row has the focus while a menu is open.
/// Ids are those of ImGui; 0 means none.
class table_choice {
 public:
  /// Starts a frame: the tables noted during the previous frame are those on the screen.
  void begin_frame();
  /// Records that `panel` draws a row of `table`. Call for each row.
  void note(unsigned table, unsigned panel) {
    if (drawing_.empty() || drawing_.back().table != table) drawing_.push_back({table, panel});
  }
  /// Records that the user chose a row of the table.
  void choose(unsigned table) { chosen_ = table; }
  /// The table in which the user last chose a row, unless the user has turned to another panel since.
  [[nodiscard]] unsigned of_chosen_row() const;
  /// The table of `of_chosen_row`; if there is none, the first table of the panel used last; otherwise any table on the
  /// screen.
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

/// Requests of menus to tables in this frame. The application sets them, and the tables consume them.
struct table_requests {
  table_choice choice;
  unsigned to_copy = 0;    ///< The table whose chosen or selected rows are to be copied.
  unsigned to_select = 0;  ///< The table whose rows are to be selected.
  unsigned to_save = 0;
};

}  // namespace sluice::gui
