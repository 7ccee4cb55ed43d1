#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/parts/item_menu.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/table/row_selection.hpp"

namespace sluice::gui {

/// How a table is drawn.
struct table_options {
  static constexpr std::size_t no_column = table_sort::none;

  bool scrolls = false;        ///< The table fills the rest of the window and scrolls; the headings stay in view.
  float height = 0;            ///< Height in pixels of a table that scrolls; 0: all that is left; negative: leave this.
  bool shares_width = false;   ///< The columns share the table's width in proportion to their `width`.
  bool adjustable = false;     ///< The user can resize columns and, if they share the width, also move and hide them.
  bool drops_columns = false;  ///< If there is little space, leave out the last columns.
  std::size_t stretched_column = 0;   ///< Gets the space that the others leave.
  float least_width = 0;              ///< In pixels. A narrower table that scrolls also scrolls sideways.
  bool follows_selection = false;     ///< Scroll to the first chosen row when the window's selection changes.
  bool follows_end = false;           ///< If the last row is visible, scroll to new rows as they arrive.
  std::optional<std::size_t> keep{};  ///< A source row to draw even if it is out of view, because it gets the focus.
};

/// What `view_tables::draw` drew.
struct drawn_table {
  std::vector<std::size_t> visible;    ///< The rows on the screen.
  std::optional<std::size_t> hovered;  ///< The source row under the mouse.
  bool under_mouse = false;            ///< The mouse is over a table that scrolls.
};

/// Draws the tables and lists of one view, and holds what the user did to them: the order of the rows, the focus and
/// the selected rows. The row with the keyboard focus is highlighted. A click focuses a row, and the arrow keys move
/// the focus. A click or an arrow key with Shift selects all rows up to the new focus, Ctrl with a click adds or removes
/// one row, and `row.select_all` (Ctrl+A) selects all rows; a small text at the bottom of the panel then shows their
/// number and size. `row.copy` (Ctrl+C) copies the focused row or the selected rows. A right click, the Menu key or
/// Shift+F10 opens the row's menu. A click on a heading sorts. Use in the frames of one ImGui context.
class view_tables {
 public:
  /// Draws the table at the cursor. Only visible rows cost time. Sets `model.order`.
  drawn_table draw(const view_context& with, table_model& model, const table_options& options = {});
  /// Scrolls the next table that is drawn and scrolls, so that the row is visible.
  void scroll_to(std::size_t row) { scroll_to_ = row; }
  /// Sorts the next table that is drawn and has a column with this title, as a click on its heading does.
  void sort_by(std::string title) { sort_by_ = std::move(title); }

  /// For lists that are not tables: draws a row from the cursor on, without cells; the caller draws over it. Returns
  /// true if the row was clicked without Ctrl or Shift, which select rows. The caller must have pushed exactly one ImGui
  /// id for the row. `size`: see ImGui::Selectable.
  bool item(const view_context& with, const table_model& model, std::size_t row, ImVec2 size = {0, 0});
  /// Makes the last item, which must have the current id, a row of a list.
  void follow_item(const view_context& with, const table_model& model, std::size_t row);

 private:
  /// What is known of a table from earlier frames.
  struct table_state {
    table_sort by;
    std::vector<std::size_t> order;  ///< The sorted rows of the other members.
    std::shared_ptr<const void> source;
    std::uint64_t variant = 0;
    std::size_t rows_drawn = 0;
    bool at_end = false;
    float beside = 0;  ///< Width of all columns but the stretched one, in pixels; 0: not known yet.
    std::pair<std::uint64_t, std::size_t> followed{};  ///< The selection, and the rows, of the last scroll to it.
    int frame = -1;  ///< ImGui's number of the last frame in which the table was drawn.
  };

  static void set_up_columns(const view_context& with, const table_model& model, std::size_t shown,
                             const table_options& options);
  static void draw_headings(const view_context& with, const table_model& model, std::size_t shown, bool scrolls);
  void sort(table_model& model, std::size_t shown, table_state& state);
  /// A table that is being drawn.
  struct drawing {
    const view_context& with;
    const table_model& model;
    const table_options& options;
    std::size_t shown;  ///< The number of columns that are drawn.
    unsigned table;     ///< The table's key.
  };
  drawn_table draw_rows(const drawing& of);
  void draw_row(const drawing& of, std::size_t row, drawn_table& drawn);
  static void draw_tip(const view_context& with, const table_model& model, std::size_t source);
  bool draw_item(const view_context& with, const table_model& model, std::size_t row, unsigned table, ImVec2 size);
  void scroll(const drawing& of, table_state& state);
  void follow_selection(const drawing& of, table_state& state);
  /// Does what menus ask of the table. Once per frame and table.
  void visit(const view_context& with, const table_model& model, unsigned table);
  void follow(const view_context& with, const table_model& model, std::size_t row, unsigned table);
  void draw_menu(const view_context& with, const table_model& model, std::size_t row, unsigned table);
  /// `selected`, here and in the next two functions: apply to the selected rows instead of only to `row` or the whole
  /// table.
  void draw_copy_entries(const view_context& with, const table_model& model, std::size_t row, bool selected) const;
  void copy_rows(const table_model& model, std::size_t row, bool selected) const;
  void take_csv(const view_context& with, const table_model& model, bool save, bool selected) const;
  void draw_selected(const view_context& with) const;

  item_menu menu_;
  row_selection selection_;
  std::map<unsigned, table_state> states_;
  std::optional<std::size_t> scroll_to_;
  std::string sort_by_;
};

/// Copies the table as CSV; if `save`, asks the user for a path and saves it there. `only`: only these rows.
void copy_or_save_csv(const view_context& with, const table_model& model, bool save, const row_set* only = nullptr);

}  // namespace sluice::gui
