#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/row_menu.hpp"
#include "core/query/answers/panels/step_statistics.hpp"

namespace sluice::gui {

/// A statistic of each step: as bars over the steps, and as a table whose rows are the steps. Steps that stand out are
/// marked; a click selects the step's time.
class step_table {
 public:
  void reset();
  void draw(const view_context& with);
  /// True while the mouse is on the chart or the table: the panel should stay in front.
  [[nodiscard]] bool hovered() const { return hovered_; }
  void not_drawn() { hovered_ = false; }
  /// Chooses the figure by its label, once it is there.
  void choose(std::string label) { label_ = std::move(label); }

 private:
  void draw_choices(const view_context& with, const query::step_statistics& all);
  void draw_chart(const view_context& with, const query::step_statistics& all, const query::step_figure& of);
  void draw_rows(const view_context& with, const query::step_statistics& all, const query::step_figure& of);
  void draw_row(const view_context& with, const table_content& content, std::size_t row, const analysis::step& step,
                bool stands_out, bool times);
  static void go_to(const view_context& with, const analysis::step& step);
  [[nodiscard]] const query::step_figure* shown_of(const query::step_statistics& all) const;

  screen_slot<query::step_statistics_question> question_;
  trace::process_id process_{};  ///< None: the one with most steps.
  std::string label_;            ///< Of the figure that is shown; empty: the first.
  std::string filter_;           ///< Of the list of figures.
  bool only_outliers_ = false;
  bool hovered_ = false;
  std::size_t rows_drawn_ = 0;  ///< In the last frame.
  bool at_end_ = false;         ///< The last row was in view.
  row_menu rows_;
};

}  // namespace sluice::gui
