#pragma once

#include <array>
#include <memory>
#include <string>

#include "app/gui/views/compare/aligned_curves.hpp"
#include "app/gui/views/compare/compare_tables.hpp"
#include "app/gui/views/compare/difference_flames.hpp"
#include "app/gui/views/compare/side_picker.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "core/query/types/comparison.hpp"

namespace sluice::gui {

inline constexpr panel_info compare_panel{.title = "Compare",
                                          .scrolls = false,
                                          .shown_at_first = false,
                                          .offers_choices = true,
                                          .open = {"compare.open", "Compare", "Compare"}};

/// Compares two recordings, two ranges or steps of one recording, two devices, or two processes (ranks). Shows aligned
/// curves, metrics, the groups of memory that grew, and a flame graph of the difference. The comparison stays the same
/// when another document becomes active.
class compare_view final : public view {
 public:
  compare_view() : view(compare_panel) {}
  [[nodiscard]] panel_status status() const override {
    return {.busy = growth_.busy() || waiting_ || picker_.waits_for_steps()};
  }
  void add_commands(const command_home& home) override;
  void draw(view_context& with) override;
  void follow(const view_context& with) override;

  // For tests.
  [[nodiscard]] std::shared_ptr<const metrics::comparison> shown() const { return shown_; }
  [[nodiscard]] const aligned_curves& curves() const { return curves_; }

 private:
  void draw_controls(const view_context& with);
  void draw_missing(const view_context& with, bool before, bool after) const;
  [[nodiscard]] bool ask(const view_context& with, const open_side& before, const open_side& after);
  void choose_memory();
  void draw_result(view_context& with, const open_side& before, const open_side& after);
  void draw_curves(view_context& with, const open_side& before, const open_side& after, ImVec2 size);
  void draw_memory_combo(const view_context& with);
  /// Draws the first line of `sluice diff` if both sides are whole recordings, which alone have a report.
  void draw_change(const view_context& with, const open_side& before, const open_side& after);

  side_picker picker_;
  std::array<screen_slot<query::compared_side_query>, 2> side_queries_;
  screen_slot<query::comparison_query> query_;
  std::array<screen_slot<query::report_query>, 2> report_queries_;
  std::array<std::shared_ptr<const metrics::report>, 2> reports_;  ///< From which `change_` was made.
  std::string change_;                                             ///< `metrics::run_change::text`.
  std::array<std::shared_ptr<const metrics::compared_side>, 2> sides_;
  std::shared_ptr<const metrics::comparison> shown_;
  std::string failure_;
  bool waiting_ = false;  ///< In the last frame, a result was incomplete.
  float progress_ = 0;
  std::string memory_label_;  ///< The label of the chosen memory; empty: the innermost layer that has a large part of
                              ///< the highest peak.
  std::size_t memory_ = 0;    ///< Index of the chosen memory in `shown_->memory`.
  std::string tab_;           ///< The tab to bring to the front in the next frame; empty: no change.
  alignment align_ = alignment::time;
  aligned_curves curves_;
  difference_flames flames_;
  growth_table growth_;
  view_tables tables_;
};

}  // namespace sluice::gui
