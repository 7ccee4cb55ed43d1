#pragma once

#include <optional>

#include "app/gui/views/chart/chart_model.hpp"
#include "app/gui/window/theme.hpp"
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

/// The chart: a dot for the copies of each size and rate, a line through the fastest copies of each size, the link's
/// peak, and the highest rate that was measured to be attainable. `only`: contains only these copies; none: all. Items
/// are positions in `table.cells`. Has no series if there are no copies. `table` must outlive the model. O(cells).
[[nodiscard]] chart_model make_copies_model(const metrics::copy_table& table,
                                            const metrics::range_statistics& statistics,
                                            const std::optional<copy_way>& only, const theme& colours);

}  // namespace sluice::gui
