#pragma once

#include <memory>
#include <set>
#include <string>

#include "app/gui/views/what_if_replay.hpp"

namespace sluice::gui {

/// The memory that an allocator would have reserved under other settings, as lines over the chart of memory over time.
/// The values come from the replay of the panel What if, which starts when the user first opens the choice.
class reserved_curves {
 public:
  explicit reserved_curves(std::shared_ptr<what_if_replay> replay) : replay_(std::move(replay)) {}
  void reset();

  /// Draws a combo box to choose settings of the allocators of `device`.
  void draw_choice(const view_context& with, trace::device_id device, float width);
  /// The maximum of the chosen curves in `range`, in bytes; 0 if no curve is chosen. O(chosen * parts).
  [[nodiscard]] double highest(trace::device_id device, time_range range) const;
  /// Adds the chosen curves to a chart whose x axis is one of times. O(chosen * parts).
  void add_to(chart_model& model, trace::device_id device, const theme& colours) const;
  /// Adds a line to the current tooltip for each chosen curve, with the curve's bytes at `time`.
  void tell(const view_context& with, trace::device_id device, time_ns time) const;
  [[nodiscard]] bool any() const { return !chosen_.empty(); }
  /// Shows or hides the curve of a policy.
  void toggle(const std::string& policy);

 private:
  /// Calls `visit(allocator, policy, index of the policy)` for each chosen curve of `device`.
  template <class Visit>
  void for_each(trace::device_id device, Visit&& visit) const;
  void draw_policies(const view_context& with, trace::device_id device);

  std::shared_ptr<what_if_replay> replay_;
  std::set<std::string> chosen_;  ///< Names of the policies whose curves are shown.
};

}  // namespace sluice::gui
