#include "app/gui/views/memory_map/holes_strip.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

constexpr float holes_height = 34;    // design pixels
constexpr float min_for_holes = 200;  // design pixels that must remain in the panel

/// Marks a moment of the range that the strip shows.
void draw_mark(const view_context& with, const draw::rectangle& area, time_range range, time_ns moment) {
  const double span = static_cast<double>(std::max<time_ns>(1, range.length()));
  const double share = std::clamp(static_cast<double>(moment - range.begin) / span, 0.0, 1.0);
  ImGui::GetWindowDrawList()->AddLineV(std::floor(area.min.x + static_cast<float>(share) * (area.width() - 1)),
                                       area.min.y, area.max.y - 1, with.colours.accent);
}

void draw_tip(const view_context& with, const query::hole_sample& sample, std::size_t layer) {
  if (!begin_tip(with)) return;
  const query::segment_holes& holes = sample.layers[layer];
  const float column = with.px(110);
  tip_field(with, "sampled at", format_moment(sample.time), column);
  tip_field(with, "segments", format_bytes(holes.bytes), column);
  tip_field(with, "free", format_bytes(holes.free), column);
  tip_field(with, "largest hole", format_bytes(holes.largest_hole), column);
  end_tip();
}

}  // namespace

void holes_strip::reset() {
  query_ = {};
  curve_ = nullptr;
}

/// The layer whose segments have more free bytes than those of other layers, at any time of the curve.
std::size_t holes_strip::layer_with_most_free() const {
  std::size_t layer = 0;
  std::uint64_t most = 0;
  for (const query::hole_sample& sample : curve_->samples)
    for (std::size_t i = 0; i < sample.layers.size(); ++i)
      if (sample.layers[i].free > most) {
        most = sample.layers[i].free;
        layer = i;
      }
  return layer;
}

void holes_strip::draw(const view_context& with, std::optional<trace::device_id> device, std::optional<time_ns> moment,
                       bool paused) {
  const document& active = *with.state.active();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (room.y < with.px(min_for_holes) || room.x < with.px(80)) return;
  query::holes_query wanted;
  wanted.range = {active.span.begin, active.span.end + 1};
  wanted.device = device;
  // With a million blocks, only one part of the recording fits into memory. If both ran, the film and the curve would
  // evict each other's part.
  if (paused) {
    query_ = {};
  } else if (!active.live) {
    if (const auto result = query_.ask(*active.engine, wanted)) curve_ = result.value;
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const draw::rectangle area{at, {at.x + room.x, at.y + with.px(holes_height)}};
  ImGui::InvisibleButton("holes", {area.width(), area.height()});
  const bool hovered = ImGui::IsItemHovered();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddLineH(area.min.x, area.max.x, area.max.y - 1, with.colours.line);
  if (curve_ == nullptr || curve_->samples.empty()) return;
  const std::size_t layer = layer_with_most_free();
  const query::hole_sample* under = draw_curve(with, area, layer, hovered);
  if (moment) draw_mark(with, area, wanted.range, *moment);
  ImGui::PushFont(nullptr, small_text);
  list.AddText({area.min.x + with.px(4), area.min.y}, with.colours.muted, "free in segments; line: largest hole");
  ImGui::PopFont();
  if (under != nullptr) draw_tip(with, *under, layer);
}

const query::hole_sample* holes_strip::draw_curve(const view_context& with, const draw::rectangle& area,
                                                  std::size_t layer, bool hovered) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  std::uint64_t top = 1;
  for (const query::hole_sample& each : curve_->samples) top = std::max(top, each.layers[layer].free);
  const double width = static_cast<double>(area.width()) / static_cast<double>(query::holes_query{}.samples);
  const auto y_of_bytes = [&](std::uint64_t bytes) {
    return area.max.y - 1 -
           static_cast<float>(static_cast<double>(bytes) / static_cast<double>(top)) * (area.height() - with.px(4));
  };
  const query::hole_sample* under = nullptr;
  for (std::size_t i = 0; i < curve_->samples.size(); ++i) {
    const query::segment_holes& holes = curve_->samples[i].layers[layer];
    const float left = std::floor(area.min.x + static_cast<float>(static_cast<double>(i) * width));
    const float right = std::floor(area.min.x + static_cast<float>(static_cast<double>(i + 1) * width));
    list.AddRectFilled({left, y_of_bytes(holes.free)}, {right, area.max.y - 1}, with.colours.pool_free);
    if (holes.largest_hole > 0)
      list.AddRectFilled({left, y_of_bytes(holes.largest_hole)},
                         {right, y_of_bytes(holes.largest_hole) + with.px(1.5F)}, with.colours.text);
    if (hovered && ImGui::GetMousePos().x >= left && ImGui::GetMousePos().x < right) under = &curve_->samples[i];
  }
  return under;
}

}  // namespace sluice::gui
