#pragma once

#include <optional>
#include <string>

#include "app/gui/views/lanes/series_lanes.hpp"
#include "app/gui/views/timeline/track_row.hpp"

/// What a lane of memory marks: the highest point in view, and the request that failed because memory ran out.
namespace sluice::gui {

/// The highest point of the areas of a lane.
struct highest_point {
  time_range span;  ///< The bin in which it lies.
  double bytes = 0;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  friend bool operator==(const highest_point&, const highest_point&) = default;
};

/// Finds the highest point of the first stack of a lane in `visible`; none if nothing is in use there, or if the memory
/// is the same throughout. Of several, the first. O(bins * bands).
[[nodiscard]] std::optional<highest_point> find_highest_point(const series_lane& lane, const query::series& curves,
                                                              time_range visible);

/// The failure in `whole_report` as the memory lane of `device` shows it; `asked` is 0 if there is none.
[[nodiscard]] memory_failure find_failure(const metrics::report& whole_report, trace::device_id device);

/// The bytes below the request that failed. `in_use`: bytes in use at the failure. If the shortage is known, the request
/// then exceeds the limit by exactly that, because free memory that it could not use counts as used.
[[nodiscard]] double get_base(const memory_failure& failed, double in_use);

/// Draws a dashed line through the highest point in view, and its size and owner.
class highest_mark {
 public:
  void draw(const view_context& with, query::engine& engine, const query::track& track, const row_frame& where,
            const draw::rectangle& chart, const series_lane& lane, const query::series& curves, ImDrawList& list);

 private:
  /// The block whose allocation made the memory that high, such as "activation, train.py:80"; empty if unknown.
  [[nodiscard]] std::string find_owner(const view_context& with, query::engine& engine, const query::track& track,
                                       const highest_point& point);

  screen_slot<query::series_query> closer_;
  screen_slot<query::blocks_query> blocks_;
  highest_point owned_;  ///< The point of `owner_`.
  std::string owner_;
};

/// Draws the limit of the memory, and the request that failed, as a dashed box on top of what was in use.
void draw_failure(const view_context& with, const memory_failure& failed, double in_use, const row_frame& where,
                  const draw::rectangle& chart, double top, ImDrawList& list);

}  // namespace sluice::gui
