#include "app/gui/views/timeline/memory_curve.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace sluice::gui {

void memory_curve::draw(view_context& with, query::engine& engine, std::uint64_t track, time_range span,
                        const draw::rectangle& area, ImDrawList& list) {
  const auto result = query_.ask(engine, {track, span, static_cast<std::uint32_t>(std::max(1.0F, area.width()))});
  if (!result) return;
  if (result.value != shown_ || theme_ != with.colours.kind) {
    shown_ = result.value;
    theme_ = with.colours.kind;
    upload(with, area.height());
  }
  with.boxes.add(list, batch_, area, span, units(), with.colours.background);
}

void memory_curve::upload(const view_context& with, float height) {
  static thread_local std::vector<draw::box> boxes;
  boxes.clear();
  top_ = 0;
  std::size_t width = 0;
  // Memory handed out by layers above the driver counts as used. If there are no layers above the driver, all memory of
  // the driver counts as used.
  bool above = false;
  for (const query::band& band : shown_->bands) {
    width = std::max(width, band.bins.size());
    above = above || (band.role == query::band_role::used && band.layer != trace::layer::driver);
  }
  const double ns_per_bin = width == 0 ? 0 : static_cast<double>(shown_->range.length()) / static_cast<double>(width);
  const auto left = [&](std::size_t at) { return static_cast<float>(static_cast<double>(at) * ns_per_bin); };
  const ImU32 colour = mix(with.colours.layers[0], with.colours.background, 0.25F);
  for (std::size_t at = 0; at < width; ++at) {
    std::array<double, trace::layer_count> held{};
    double reserved = 0;
    for (const query::band& band : shown_->bands) {
      if (at >= band.bins.size()) continue;
      if (band.role == query::band_role::used) held[static_cast<std::size_t>(band.layer)] += band.bins[at].at_peak;
      if (band.role == query::band_role::reserved) reserved += band.bins[at].at_peak;
    }
    reserved += held[0];
    const double used = above ? *std::max_element(held.begin() + 1, held.end()) : held[0];
    const auto line = static_cast<float>(std::max(reserved, used));
    top_ = std::max(top_, std::max(reserved, used));
    boxes.push_back({left(at), left(at + 1), 0, static_cast<float>(used), colour, 0});
    if (line > static_cast<float>(used))
      boxes.push_back({left(at), left(at + 1), line * 0.999999F, line, with.colours.reserved, 0});
  }
  draw::simplify(boxes, units(), height);
  batch_.assign(shown_->range.begin, boxes);
}

}  // namespace sluice::gui
