#include "app/gui/views/timeline/memory_curve.hpp"

#include <algorithm>
#include <vector>

namespace sluice::gui {

void memory_curve::draw(view_context& with, query::engine& from, std::uint64_t track, query::time_range span,
                        const draw::rectangle& area, ImDrawList& list) {
  const auto answer = question_.ask(from, {track, span, static_cast<std::uint32_t>(std::max(1.0F, area.width()))});
  if (!answer) return;
  if (answer.value != shown_ || theme_ != with.colours.kind) {
    shown_ = answer.value;
    theme_ = with.colours.kind;
    upload(with);
  }
  with.boxes.add(list, batch_, area, span, static_cast<float>(std::max(top_ * 1.05, 1.0)), with.colours.background);
}

void memory_curve::upload(const view_context& with) {
  static thread_local std::vector<draw::box> boxes;
  boxes.clear();
  top_ = 0;
  std::size_t width = 0;
  for (const query::band& band : shown_->bands) width = std::max(width, band.bins.size());
  const double ns_per_bin = width == 0 ? 0 : static_cast<double>(shown_->range.length()) / static_cast<double>(width);
  for (std::size_t at = 0; at < width; ++at) {
    double highest = 0;
    for (std::size_t layer = 0; layer < trace::layer_count; ++layer) {
      double total = 0;
      for (const query::band& band : shown_->bands)
        if (band.role == query::band_role::used && static_cast<std::size_t>(band.layer) == layer &&
            at < band.bins.size())
          total += band.bins[at].at_peak;
      highest = std::max(highest, total);
    }
    top_ = std::max(top_, highest);
    const draw::box now{static_cast<float>(static_cast<double>(at) * ns_per_bin),
                        static_cast<float>(static_cast<double>(at + 1) * ns_per_bin),
                        0,
                        static_cast<float>(highest),
                        mix(with.colours.layers[0], with.colours.background, 0.35F),
                        0};
    if (!boxes.empty() && boxes.back().high == now.high) {
      boxes.back().end = now.end;
    } else {
      boxes.push_back(now);
    }
  }
  batch_.assign(shown_->range.begin, boxes);
}

}  // namespace sluice::gui
