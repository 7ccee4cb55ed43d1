#pragma once

#include <memory>
#include <optional>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/chart/view_charts.hpp"
#include "app/gui/views/parts/view.hpp"
#include "core/query/types/durations.hpp"

namespace sluice::gui {

/// The chart of a histogram: a bar for the events of similar durations, and marks at the median and the 99th percentile.
/// Items are numbers of bars. `histogram` must outlive the model.
[[nodiscard]] chart_model make_durations_model(const query::duration_histogram& histogram, const theme& colours);

/// The distribution of durations, either of all kernels, copies or calls, or only of those that have the same name as
/// the selected event. Clicking a bar selects the longest event in it; further clicks step through the other events of
/// that bar.
class duration_chart {
 public:
  void reset();
  void draw(const view_context& with, time_range range);
  /// True while the mouse is over the chart. The user may then be stepping through events, so the panel should stay in
  /// front.
  [[nodiscard]] bool hovered() const { return hovered_; }
  void not_drawn() { hovered_ = false; }

 private:
  void follow_selection(const view_context& with);
  void draw_choice(const view_context& with, const query::duration_histogram* shown);
  void draw_words(const view_context& with, const query::duration_histogram& histogram) const;
  void draw_bars(const view_context& with, const query::duration_histogram& histogram, time_range range);
  [[nodiscard]] bool steps_through(const query::duration_bar& bar) const;
  void click(const view_context& with, const query::duration_bar& bar, time_range range);
  void take_step(const view_context& with);
  void select(const view_context& with, trace::event_id event, time_range span);

  screen_slot<query::durations_query> query_;
  screen_slot<query::durations_query> step_query_;
  trace::row_type kind_ = trace::row_type::kernel;
  trace::event_id like_{};                            ///< An event that has the name to show; none: show all events of
                                                      ///< `kind_`.
  std::uint64_t followed_ = 0;                        ///< Id of the last selected event that the chart has handled.
  std::uint64_t own_ = 0;                             ///< Id of the last event that was selected in this chart.
  time_range own_span_;                               ///< Time range of the event `own_`.
  std::optional<query::duration_step> stepping_bar_;  ///< The bar that was clicked last.
  std::optional<query::durations_query> step_;        ///< The pending step to another event of a bar, until its query
                                                      ///< has run.
  bool hovered_ = false;
  view_charts charts_;
};

}  // namespace sluice::gui
