#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "app/gui/views/chart/view_charts.hpp"
#include "app/gui/views/parts/view.hpp"
#include "core/query/types/holes.hpp"

namespace sluice::gui {

/// The chart of the holes of one layer: the free space in segments, and the largest hole as a curve. `samples`: the
/// number of parts of `curve.range`. Items are positions in `curve.samples`. `curve` must outlive the model.
[[nodiscard]] chart_model make_holes_model(const query::hole_curve& curve, std::uint32_t samples, std::size_t layer,
                                           const theme& colours);
/// The layer whose segments have more free bytes than those of other layers, at any time of the curve.
[[nodiscard]] std::size_t layer_with_most_free(const query::hole_curve& curve);

/// The curve of free space in segments over the whole recording, and of the largest hole.
class holes_strip {
 public:
  void reset();
  /// Draws the curve, with a mark at `moment`. `device`: the device whose memory is shown. `paused`: do not query now.
  void draw(const view_context& with, std::optional<trace::device_id> device, std::optional<time_ns> moment,
            bool paused);

 private:
  screen_slot<query::holes_query> query_;
  std::shared_ptr<const query::hole_curve> curve_;
  view_charts charts_;
};

}  // namespace sluice::gui
