#pragma once

#include <optional>

#include "app/gui/views/view.hpp"
#include "core/figures/range_statistics.hpp"
#include "core/figures/waste/copy_lines.hpp"

/// The bandwidth of copies by their size.
namespace sluice::gui {

/// Copies of one direction on one device.
struct copy_way {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;

  /// True for what has this device and direction.
  template <class Copies>
  [[nodiscard]] bool takes(const Copies& each) const {
    return each.device == device && each.direction == direction;
  }
  friend bool operator==(const copy_way&, const copy_way&) = default;
};

/// True if one side of such a copy is host memory.
[[nodiscard]] constexpr bool has_host_side(trace::direction way) {
  return way == trace::direction::h2d || way == trace::direction::d2h;
}

/// Draws a dot for the copies of each size and rate, the fastest of each size as a line, the link's peak and what was
/// measured of it. A click on a dot selects its fastest copy. `table` null: leaves the room empty. `only`: draws
/// only these. O(cells).
void draw_copies(const view_context& with, const analysis::copy_table* table, const analysis::range_statistics& figures,
                 const std::optional<copy_way>& only, ImVec2 size);

}  // namespace sluice::gui
