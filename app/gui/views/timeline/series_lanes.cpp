#include "app/gui/views/timeline/series_lanes.hpp"

#include <algorithm>
#include <array>

namespace sluice::gui {
namespace {

double value_at(const query::series& curves, std::size_t band, std::size_t at, query::track_kind kind) {
  const auto& bins = curves.bands[band].bins;
  return at < bins.size() ? std::max(0.0, height_of(bins[at], kind)) : 0.0;
}

std::size_t width_of(const query::series& curves) {
  std::size_t width = 0;
  for (const query::band& band : curves.bands) width = std::max(width, band.bins.size());
  return width;
}

bool tracked(const query::band& band) {
  return band.role != query::band_role::untracked && band.role != query::band_role::recorder;
}

std::vector<band_stack> levels_of(const query::series& curves, query::track_kind kind) {
  band_stack stack;
  std::array<band_stack, trace::layer_count> above;
  std::vector<band_stack> levels;
  for (std::size_t i = 0; i < curves.bands.size(); ++i) {
    const query::band& band = curves.bands[i];
    if (band.stacked) {
      stack.bands.push_back(i);
    } else if (band.role == query::band_role::used && kind == query::track_kind::memory &&
               band.layer != trace::layer::driver) {
      above[static_cast<std::size_t>(band.layer)].bands.push_back(i);
    } else if (band.role != query::band_role::total) {
      levels.push_back({{i}});
    }
  }
  // Untracked memory is stacked on top of known memory.
  std::stable_partition(stack.bands.begin(), stack.bands.end(),
                        [&](std::size_t i) { return curves.bands[i].role != query::band_role::untracked; });
  // Highest layer first: where it holds everything the driver allocated, its color is visible.
  for (band_stack& each : above)
    if (!each.bands.empty()) levels.insert(levels.begin(), std::move(each));
  if (!stack.bands.empty()) levels.push_back(std::move(stack));
  return levels;
}

/// Merges equal adjacent columns into one box, so that a recording with few changes needs few boxes.
void merge_equal(std::vector<draw::box>& boxes) {
  std::size_t kept = 0;
  std::array<std::size_t, 64> last{};  // by position in the column
  std::size_t position = 0;
  std::size_t known = 0;
  float column = -1;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const draw::box now = boxes[i];
    if (i == 0 || now.begin != column) position = 0;
    column = now.begin;
    bool grown = false;
    if (position < known && position < last.size()) {
      draw::box& before = boxes[last[position]];
      if (before.end == now.begin && before.low == now.low && before.high == now.high && before.colour == now.colour &&
          before.style == now.style) {
        before.end = now.end;
        grown = true;
      }
    }
    if (!grown) {
      boxes[kept] = now;
      if (position < last.size()) {
        last[position] = kept;
        known = std::max(known, position + 1);
      }
      ++kept;
    }
    ++position;
  }
  boxes.resize(kept);
}

}  // namespace

double height_of(const query::bin& bin, query::track_kind kind) {
  if (kind == query::track_kind::bandwidth) return bin.mean;
  return kind == query::track_kind::memory ? bin.at_peak : bin.maximum;
}

std::vector<series_lane> lanes_of(const query::series& curves, query::track_kind kind) {
  std::vector<series_lane> lanes;
  if (kind == query::track_kind::bandwidth && curves.bands.size() > 1) {
    for (std::size_t i = 0; i < curves.bands.size(); ++i) {
      series_lane& lane = lanes.emplace_back();
      lane.levels = {{{i}}};
      lane.direction = curves.bands[i].direction;
      lane.height = 54;
    }
    return lanes;
  }
  series_lane& all = lanes.emplace_back();
  all.levels = levels_of(curves, kind);
  if (curves.bands.size() == 1) all.direction = curves.bands[0].direction;
  const bool by_category =
      std::any_of(curves.bands.begin(), curves.bands.end(), [](const auto& b) { return b.by_category; });
  all.height = by_category                                                               ? 140
               : kind == query::track_kind::memory                                       ? 100
               : kind == query::track_kind::pool || kind == query::track_kind::bandwidth ? 72
                                                                                         : 46;
  const bool sampled = std::any_of(curves.bands.begin(), curves.bands.end(), [](const auto& b) { return !tracked(b); });
  if (kind != query::track_kind::memory || !sampled) return lanes;
  series_lane device;
  device.height = 52;
  device.caption = "whole GPU";
  device.levels = {all.levels.back()};  // the stack, with untracked memory
  for (band_stack& each : all.levels)
    std::erase_if(each.bands, [&](std::size_t i) { return !tracked(curves.bands[i]); });
  all.limits = false;
  lanes.push_back(std::move(device));
  return lanes;
}

double highest_of(const series_lane& lane, const query::series& curves, query::track_kind kind) {
  double highest = 0;
  for (std::size_t at = 0; at < width_of(curves); ++at)
    for (const band_stack& each : lane.levels) {
      double total = 0;
      for (const std::size_t band : each.bands) total += value_at(curves, band, at, kind);
      highest = std::max(highest, total);
    }
  return highest;
}

void fill(series_lane& lane, const query::series& curves, query::track_kind kind, const theme& colours) {
  static thread_local std::vector<draw::box> boxes;
  boxes.clear();
  const std::size_t width = width_of(curves);
  const double ns_per_bin = width == 0 ? 0 : static_cast<double>(curves.range.length()) / static_cast<double>(width);
  std::vector<std::pair<double, const band_stack*>> order;
  for (std::size_t at = 0; at < width; ++at) {
    const auto left = static_cast<float>(static_cast<double>(at) * ns_per_bin);
    const auto right = static_cast<float>(static_cast<double>(at + 1) * ns_per_bin);
    order.clear();
    for (const band_stack& each : lane.levels) {
      double total = 0;
      for (const std::size_t band : each.bands) total += value_at(curves, band, at, kind);
      order.emplace_back(total, &each);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    double drawn = 0;  // painted up to here
    for (const auto& [total, each] : order) {
      double low = 0;
      for (const std::size_t band : each->bands) {
        const double high = low + value_at(curves, band, at, kind);
        if (high > drawn) {
          const query::band& what = curves.bands[band];
          const bool hatch = what.role == query::band_role::untracked;
          boxes.push_back({left, right, static_cast<float>(std::max(low, drawn)), static_cast<float>(high),
                           colours.of(what), hatch ? draw::hatched : 0U});
          drawn = high;
        }
        low = high;
      }
    }
  }
  merge_equal(boxes);
  lane.batch.assign(curves.range.begin, boxes);
}

}  // namespace sluice::gui
