#pragma once

#include <algorithm>
#include <memory>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// A device's memory over time: used memory as an area, and reserved memory as a line.
class memory_curve {
 public:
  /// Draws the time range `span` of the memory track with the id `track` into `area`.
  void draw(view_context& with, query::engine& engine, std::uint64_t track, time_range span,
            const draw::rectangle& area, ImDrawList& list);

 private:
  void upload(const view_context& with, float height);
  /// The value at the top of the chart.
  [[nodiscard]] float units() const { return static_cast<float>(std::max(top_ * 1.05, 1.0)); }

  screen_slot<query::series_query> query_;
  std::shared_ptr<const query::series> shown_;
  draw::box_batch batch_;
  theme_kind theme_ = theme_kind::dark;
  double top_ = 0;
};

}  // namespace sluice::gui
