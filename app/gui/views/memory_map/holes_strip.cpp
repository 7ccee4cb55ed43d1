#include "app/gui/views/memory_map/holes_strip.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace sluice::gui {
namespace {

constexpr float holes_height = 50;    // design pixels
constexpr float min_for_holes = 200;  // design pixels that must remain in the panel

}  // namespace

std::size_t layer_with_most_free(const query::hole_curve& curve) {
  std::size_t layer = 0;
  std::uint64_t most = 0;
  for (const query::hole_sample& sample : curve.samples)
    for (std::size_t i = 0; i < sample.layers.size(); ++i)
      if (sample.layers[i].free > most) {
        most = sample.layers[i].free;
        layer = i;
      }
  return layer;
}

chart_model make_holes_model(const query::hole_curve& curve, std::uint32_t samples, std::size_t layer,
                             const theme& colours) {
  chart_model model;
  model.x = make_time_axis(curve.range);
  model.axes = false;
  model.legend = true;
  model.series.resize(2);
  chart_series& free = model.series[0];
  chart_series& largest = model.series[1];
  free.look = series_look::bars;
  free.name = "free in segments";
  free.colour = colours.pool_free;
  largest.look = series_look::steps;
  largest.name = "largest hole";
  largest.colour = colours.text;
  double highest = 1;
  const double width = model.x.high / static_cast<double>(std::max(samples, 1U));
  for (std::size_t i = 0; i < curve.samples.size(); ++i) {
    const query::segment_holes& holes = curve.samples[i].layers[layer];
    highest = std::max(highest, static_cast<double>(holes.free));
    const double begin = static_cast<double>(i) * width;
    const auto add = [&](chart_series& to, std::uint64_t bytes) {
      to.points.push_back({.begin = begin,
                           .end = begin + width,
                           .high = static_cast<double>(bytes),
                           .item = static_cast<std::uint32_t>(i)});
    };
    add(free, holes.free);
    if (holes.largest_hole > 0) add(largest, holes.largest_hole);
  }
  model.y = {.unit = format::value_unit::bytes, .high = highest * 1.1};
  model.tip = [&curve, layer](const chart_pointer& pointer) {
    chart_tip tip;
    if (!pointer.series) return tip;
    const query::hole_sample& sample = curve.samples[pointer.item];
    const query::segment_holes& holes = sample.layers[layer];
    tip.field("sampled at", format_moment(sample.time));
    tip.field("segments", format_bytes(holes.bytes));
    tip.field("free", format_bytes(holes.free));
    tip.field("largest hole", format_bytes(holes.largest_hole));
    return tip;
  };
  return model;
}

void holes_strip::reset() {
  query_ = {};
  curve_ = nullptr;
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
  chart_model model;
  if (curve_ != nullptr && !curve_->samples.empty())
    model = make_holes_model(*curve_, wanted.samples, layer_with_most_free(*curve_), with.colours);
  if (moment) model.marks.push_back({.at = model.x.place(*moment), .colour = with.colours.accent});
  charts_.draw(with, "holes", model, {room.x, with.px(holes_height)});
}

}  // namespace sluice::gui
