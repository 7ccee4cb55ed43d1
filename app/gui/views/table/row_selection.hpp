#pragma once

#include <string>

#include "app/gui/views/table/table_model.hpp"

namespace sluice::gui {

/// The selected rows of the tables of one view. They are all in one table, which is named by its key, not 0. A single
/// selected row is not counted, because it is the row with the focus. The table's rows may change in any frame; then
/// call `follow`. Costs are those of the functions of `row_set`, plus `table_model::describe`.
class row_selection {
 public:
  /// Makes `row` the only row, and the anchor of `extend_to`.
  void start_at(unsigned table, const table_model& model, std::size_t row);
  /// Selects the rows from the anchor to `row`, as a click with Shift does.
  void extend_to(unsigned table, const table_model& model, std::size_t row);
  /// Adds the row, or removes it, as a click with Ctrl does.
  void toggle(unsigned table, const table_model& model, std::size_t row);
  void select_all(unsigned table, const table_model& model);
  /// Clears the selection if its positions are now taken by other rows. If all rows were selected, adds new rows.
  void follow(const table_model& model);

  /// The table in which the user last chose a row; 0: none.
  [[nodiscard]] unsigned table() const { return table_; }
  [[nodiscard]] std::size_t anchor() const { return anchor_; }
  /// True if several rows of the table are selected.
  [[nodiscard]] bool in(unsigned table) const { return table_ == table && !words_.empty(); }
  [[nodiscard]] bool contains(unsigned table, std::size_t row) const { return in(table) && rows_.contains(row); }
  [[nodiscard]] const row_set& rows() const { return rows_; }
  /// All rows are selected, including rows that are added later.
  [[nodiscard]] bool all() const { return all_; }
  /// Describes the selected rows, if there are several: "3 rows selected, 12.0 MiB".
  [[nodiscard]] const std::string& words() const { return words_; }

  /// The selected rows as the panel shows them, one per line; at most 100,000.
  [[nodiscard]] std::string text(const table_model& model) const;

 private:
  void note(const table_model& model);

  unsigned table_ = 0;
  row_set rows_;  ///< Empty if only the focused row is selected.
  std::size_t anchor_ = 0;
  bool all_ = false;
  std::size_t known_ = 0;     ///< The number of rows that the table had when the rows were selected.
  std::string first_, last_;  ///< The texts of the first and the last selected row.
  std::string words_;
};

}  // namespace sluice::gui
