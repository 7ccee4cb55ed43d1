#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/chart/view_charts.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "core/query/types/step_statistics.hpp"

namespace sluice::gui {

/// The chart of a metric: a bar for each step, outliers in another colour, and a line at the median. Items are positions
/// in `statistics.steps`. The arguments must outlive the model. O(steps).
[[nodiscard]] chart_model make_steps_model(const query::step_statistics& statistics, const query::step_metric& metric,
                                           const theme& colours);

/// A statistic of each step, as a bar chart and as a table with a row per step. Outliers are marked. Clicking a step
/// selects its time range.
class step_table {
 public:
  void reset();
  void draw(const view_context& with);
  /// True while the mouse is over the chart or the table, so that the panel should stay in front.
  [[nodiscard]] bool hovered() const { return hovered_; }
  void not_drawn() { hovered_ = false; }
  /// Chooses the metric with this label; takes effect once the metric is available.
  void choose(std::string label) { label_ = std::move(label); }

 private:
  void draw_choices(const view_context& with, const query::step_statistics& statistics);
  void draw_chart(const view_context& with, const query::step_statistics& statistics, const query::step_metric& metric);
  void draw_rows(const view_context& with, const query::step_statistics& statistics, const query::step_metric& metric);
  static void go_to(const view_context& with, const index::step& step);
  [[nodiscard]] const query::step_metric* find_shown(const query::step_statistics& statistics) const;

  screen_slot<query::step_statistics_query> query_;
  trace::process_id process_{};  ///< None: the process with the most steps.
  std::string label_;            ///< Label of the metric to show; empty: the first metric.
  std::string filter_;           ///< Filters the list of metrics.
  bool only_outliers_ = false;
  bool hovered_ = false;
  view_tables tables_;
  view_charts charts_;
};

}  // namespace sluice::gui
