#pragma once

#include <memory>
#include <set>
#include <string>

#include "app/gui/views/what_if_replay.hpp"

namespace sluice::gui {

/// What an allocator would have reserved under other settings, as lines over the chart of memory over time: the replay
/// of the panel What if. It begins when the user first looks at the choice.
class reserved_curves {
 public:
  explicit reserved_curves(std::shared_ptr<what_if_replay> replay) : replay_(std::move(replay)) {}
  void reset();

  /// A combo to choose settings of the allocators of `device`.
  void draw_choice(const view_context& with, trace::device_id device, float width);
  /// The most bytes of the chosen curves in `range`; 0 without any. O(chosen * parts).
  [[nodiscard]] double highest(trace::device_id device, query::time_range range) const;
  void draw(const view_context& with, const time_chart& at, trace::device_id device) const;
  /// A line for each chosen curve, with its bytes at `time`.
  void tell(const view_context& with, trace::device_id device, query::time_ns time) const;
  [[nodiscard]] bool any() const { return !chosen_.empty(); }
  /// Shows the curve of a policy, or shows it no longer.
  void toggle(const std::string& policy);

 private:
  /// Calls `visit(allocator, policy, its number)` for each chosen curve of the device.
  template <class Visit>
  void for_each(trace::device_id device, Visit&& visit) const;
  void draw_policies(const view_context& with, trace::device_id device);

  std::shared_ptr<what_if_replay> replay_;
  std::set<std::string> chosen_;  ///< Policies.
};

}  // namespace sluice::gui
