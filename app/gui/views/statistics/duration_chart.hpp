#pragma once

#include <memory>
#include <optional>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/view.hpp"
#include "core/query/answers/panels/durations.hpp"

namespace sluice::gui {

/// How long events take: a chart of the durations of all kernels, copies or calls, or of those that have the selected
/// event's name. A click on a bar selects its longest event, further clicks step through the others.
class duration_chart {
 public:
  void reset();
  void draw(const view_context& with, query::time_range range);
  /// True while the mouse is on the chart: the user steps through events, and the panel should stay in front.
  [[nodiscard]] bool hovered() const { return hovered_; }
  void not_drawn() { hovered_ = false; }

 private:
  struct place;
  void follow_selection(const view_context& with);
  void draw_choice(const view_context& with, const query::duration_histogram* shown);
  void draw_words(const view_context& with, const query::duration_histogram& all) const;
  void draw_bars(const view_context& with, const query::duration_histogram& all, query::time_range range);
  void draw_marks(const view_context& with, const query::duration_histogram& all, const place& at) const;
  void hit(const view_context& with, const query::duration_histogram& all, const place& at, query::time_range range);
  void take_step(const view_context& with);
  void select(const view_context& with, trace::event_id event, query::time_range span);

  screen_slot<query::durations_question> question_;
  screen_slot<query::durations_question> step_question_;
  trace::row_type kind_ = trace::row_type::kernel;
  trace::event_id like_{};                            ///< The event whose name is asked about; none: all of the kind.
  std::uint64_t followed_ = 0;                        ///< The last selection that was looked at.
  std::uint64_t own_ = 0;                             ///< The event that was selected here.
  query::time_range own_span_;                        ///< Of that event.
  std::optional<query::duration_step> stepping_bar_;  ///< The bar that was clicked last.
  std::optional<query::durations_question> step_;     ///< Is being answered.
  bool hovered_ = false;
};

}  // namespace sluice::gui
