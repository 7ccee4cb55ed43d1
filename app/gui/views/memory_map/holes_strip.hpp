#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "app/gui/views/parts/view.hpp"
#include "core/query/types/holes.hpp"

namespace sluice::gui {

/// The curve of free space in segments over the whole recording, and of the largest hole.
class holes_strip {
 public:
  void reset();
  /// Draws the curve, with a mark at `moment`. `device`: the device whose memory is shown. `paused`: do not query now.
  void draw(const view_context& with, std::optional<trace::device_id> device, std::optional<time_ns> moment,
            bool paused);

 private:
  [[nodiscard]] std::size_t layer_with_most_free() const;
  /// Draws the curve of one layer. Returns the sample under the mouse if `hovered`; null if there is none.
  const query::hole_sample* draw_curve(const view_context& with, const draw::rectangle& area, std::size_t layer,
                                       bool hovered) const;

  screen_slot<query::holes_query> query_;
  std::shared_ptr<const query::hole_curve> curve_;
};

}  // namespace sluice::gui
