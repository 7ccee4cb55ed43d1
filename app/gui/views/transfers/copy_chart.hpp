#pragma once

#include <optional>

#include "app/gui/views/parts/view.hpp"
#include "core/metrics/findings/transfers/copy_lines.hpp"
#include "core/metrics/statistics/range_statistics.hpp"

/// A chart of copies that shows bandwidth by size.
namespace sluice::gui {

/// The copies in one direction on one device.
struct copy_way {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;

  /// True if the copies `each` are on this device and in this direction.
  template <class Copies>
  [[nodiscard]] bool takes(const Copies& each) const {
    return each.device == device && each.direction == direction;
  }
  friend bool operator==(const copy_way&, const copy_way&) = default;
};

/// True if host memory is one side of copies in this direction.
[[nodiscard]] constexpr bool has_host_side(trace::direction way) {
  return way == trace::direction::h2d || way == trace::direction::d2h;
}

/// Draws a dot for the copies of each size and rate, a line through the fastest copies of each size, the link's peak,
/// and the highest rate that was measured to be attainable. Clicking a dot selects its fastest copy. If `table` is
/// null, leaves the area empty. `only`: draw only these copies. O(cells).
void draw_copies(const view_context& with, const metrics::copy_table* table, const metrics::range_statistics& metrics,
                 const std::optional<copy_way>& only, ImVec2 size);

}  // namespace sluice::gui
