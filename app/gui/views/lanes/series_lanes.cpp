#include "app/gui/views/lanes/series_lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/window/glossary.hpp"

namespace sluice::gui {
namespace {

constexpr float outline_fill = 0.16F;  ///< Opacity of the faint area inside an outline.
constexpr float held_line = 0.45F;     ///< Opacity of the line that connects two samples.
constexpr float min_opacity = 0.35F;   ///< Opacity of a rate in a bin in which copies ran for almost no time.

double value_at(const query::series& curves, std::size_t band, std::size_t at, query::track_kind kind) {
  return std::max(0.0, compute_height(curves.bands[band], at, kind));
}

std::size_t measure_width(const query::series& curves) {
  std::size_t width = 0;
  for (const query::band& band : curves.bands) width = std::max(width, band.bins.size());
  return width;
}

std::vector<band_stack> list_levels(const query::series& curves, query::track_kind kind) {
  band_stack stack;
  std::array<band_stack, trace::layer_count> above;
  std::vector<band_stack> levels;
  for (std::size_t i = 0; i < curves.bands.size(); ++i) {
    const query::band& band = curves.bands[i];
    if (is_sampled(band)) continue;
    if (band.stacked) {
      stack.bands.push_back(i);
    } else if (band.role == query::band_role::used && kind == query::track_kind::memory &&
               band.layer != trace::layer::driver) {
      above[static_cast<std::size_t>(band.layer)].bands.push_back(i);
    } else {
      levels.push_back({{i}, band.role == query::band_role::reserved ? band_mark::outline : band_mark::area});
    }
  }
  // The highest layer comes first. Memory that a layer did not hand out is only reserved in its view, so the stacks of
  // lower layers are drawn as outlines.
  for (band_stack& each : above)
    if (!each.bands.empty()) levels.insert(levels.begin(), std::move(each));
  if (!stack.bands.empty()) levels.push_back(std::move(stack));
  if (kind == query::track_kind::memory)
    for (std::size_t i = 1; i < levels.size(); ++i) levels[i].mark = band_mark::outline;
  if (kind == query::track_kind::counter)
    for (band_stack& each : levels) each.mark = band_mark::dots;
  // In a pool's lane, this draws reserved memory behind used memory.
  std::stable_partition(levels.begin(), levels.end(),
                        [](const band_stack& each) { return each.mark != band_mark::outline; });
  return levels;
}

/// The visible part of a band in a column.
struct visible_part {
  float low = 0;
  float high = 0;
};

/// Draws the columns of one lane.
class lane_painter {
 public:
  lane_painter(series_lane& lane, const query::series& curves, query::track_kind kind, const theme& colours)
      : lane_(lane), curves_(curves), kind_(kind), colours_(colours), width_(measure_width(curves)) {
    ns_per_bin_ = width_ == 0 ? 0 : static_cast<double>(curves.range.length()) / static_cast<double>(width_);
  }

  void paint(const std::vector<std::size_t>& label_width) {
    areas_.clear();
    marks_.clear();
    parts_.assign(width_ * curves_.bands.size(), {});
    for (std::size_t at = 0; at < width_; ++at) paint_areas(at);
    for (const band_stack& each : lane_.levels) {
      if (each.mark == band_mark::outline) paint_outline(each);
      if (each.mark == band_mark::dots)
        for (const std::size_t band : each.bands) paint_dots(band);
    }
    areas_.insert(areas_.end(), marks_.begin(), marks_.end());
    draw::simplify(areas_, static_cast<float>(lane_.axis.top), lane_.pixels);
    lane_.batch.assign(curves_.range.begin, areas_);
    lane_.labels.clear();
    for (const band_stack& each : lane_.levels)
      for (const std::size_t band : each.bands)
        if (each.mark != band_mark::dots && band < label_width.size() && label_width[band] > 0)
          put_label(band, label_width[band]);
  }

 private:
  [[nodiscard]] float get_left(std::size_t at) const {
    return static_cast<float>(static_cast<double>(at) * ns_per_bin_);
  }
  [[nodiscard]] visible_part& part(std::size_t band, std::size_t at) { return parts_[band * width_ + at]; }

  [[nodiscard]] ImU32 choose_colour(std::size_t band, std::size_t at, band_mark mark) const {
    const query::band& subject = curves_.bands[band];
    const ImU32 colour = colours_.of(subject);
    if (mark == band_mark::outline)
      return subject.role == query::band_role::reserved ? colours_.pool_free
                                                        : mix(colours_.background, colour, outline_fill);
    if (at < subject.busy.size())
      return mix(colours_.background, colour,
                 min_opacity + (1 - min_opacity) * std::clamp(subject.busy[at], 0.0F, 1.0F));
    return colour;
  }

  void paint_areas(std::size_t at) {
    order_.clear();
    for (const band_stack& each : lane_.levels) {
      if (each.mark == band_mark::dots) continue;
      double total = 0;
      for (const std::size_t band : each.bands) total += value_at(curves_, band, at, kind_);
      order_.emplace_back(total, &each);
    }
    std::stable_sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    double drawn = 0;    // the height up to which the column is already painted
    double covered = 0;  // the height of the blocks that are painted elsewhere
    for (const auto& [total, each] : order_) {
      double low = 0;
      if (lane_.of_blocks && each == &lane_.levels.front()) {
        covered = total;
        continue;
      }
      for (const std::size_t band : each->bands) {
        const double high = low + value_at(curves_, band, at, kind_);
        if (high > drawn) {
          const visible_part seen{static_cast<float>(std::max(low, drawn)), static_cast<float>(high)};
          part(band, at) = {std::max(seen.low, static_cast<float>(covered)), seen.high};
          areas_.push_back(
              {get_left(at), get_left(at + 1), seen.low, seen.high, choose_colour(band, at, each->mark), 0});
          drawn = high;
        }
        low = high;
      }
    }
  }

  /// Rounds a value to a row of pixels: returns the value at the edge nearest to `value`.
  [[nodiscard]] float on_row(float value) const {
    if (!(lane_.pixels >= 1) || !(lane_.axis.top > 0)) return value;
    const float per_row = static_cast<float>(lane_.axis.top) / lane_.pixels;
    return std::floor(value / per_row + 0.5F) * per_row;
  }

  /// Draws the upper edge of a stack, with vertical lines where the edge jumps.
  void paint_outline(const band_stack& stack) {
    for (const std::size_t band : stack.bands) {
      const ImU32 colour = colours_.of(curves_.bands[band]);
      const auto high = [&](std::size_t at) { return on_row(part(band, at).high); };
      for (std::size_t begin = 0; begin < width_;) {
        std::size_t end = begin + 1;
        while (end < width_ && high(end) == high(begin)) ++end;
        if (high(begin) > 0) line(get_left(begin), get_left(end), high(begin), colour);
        if (begin > 0 && high(begin - 1) != high(begin)) {
          // Draw the vertical line only next to a visible part of this band; elsewhere, a band in front of it covers
          // the line.
          const visible_part& taller = part(band, high(begin) > high(begin - 1) ? begin : begin - 1);
          const float start = std::max(std::min(high(begin - 1), high(begin)), taller.low);
          if (taller.high > start) marks_.push_back({get_left(begin), get_left(begin), start, taller.high, colour, 0});
        }
        begin = end;
      }
    }
  }

  /// Draws a dot for each new value. A bin with several values gets a line from its lowest to its highest value, and a
  /// dot for the last.
  void paint_dots(std::size_t band) {
    const auto& bins = curves_.bands[band].bins;
    const ImU32 colour = colours_.of(curves_.bands[band]);
    const ImU32 faint = mix(colours_.background, colour, held_line);
    dots_.clear();
    // The value before the first bin is unknown, so assume no change at the left edge of the view.
    double held = bins.empty() ? 0 : bins.front().minimum;
    for (std::size_t at = 0; at < bins.size(); ++at) {
      const query::bin& now = bins[at];
      const auto high = static_cast<float>(now.maximum);
      if (now.maximum == held && now.minimum == held) {
        std::size_t end = at + 1;
        while (end < bins.size() && bins[end].maximum == held && bins[end].minimum == held) ++end;
        if (high > 0) line(get_left(at), get_left(end), high, faint);
        at = end - 1;
        continue;
      }
      // Before the first sample the curve is 0, which is not a sampled value.
      if (now.minimum < now.maximum && (now.minimum > 0 || held > 0 || !dots_.empty()))
        marks_.push_back({get_left(at), get_left(at), static_cast<float>(std::max(0.0, now.minimum)), high, faint, 0});
      // The last value of this bin is known if the next bin has only one value.
      const bool known =
          now.minimum < now.maximum && at + 1 < bins.size() && bins[at + 1].minimum == bins[at + 1].maximum;
      held = known ? bins[at + 1].maximum : now.maximum;
      const auto value = static_cast<float>(held);
      dots_.push_back({get_left(at), get_left(at + 1), value, value, colour, draw::dot});
    }
    marks_.insert(marks_.end(), dots_.begin(), dots_.end());
  }

  /// Adds a line that is one pixel high and has its upper edge at `value`.
  void line(float left, float right, float value, ImU32 colour) {
    marks_.push_back({left, right, value * 0.999999F, value, colour, 0});
  }

  /// Places the label of a band where `columns` adjacent columns of the band have the most height in common.
  void put_label(std::size_t band, std::size_t columns) {
    if (columns > width_) return;
    const std::size_t stride = std::max<std::size_t>(1, columns / 2);
    visible_part best;
    std::size_t place = 0;
    for (std::size_t start = 0; start + columns <= width_; start += stride) {
      visible_part common = part(band, start);
      for (std::size_t at = start + 1; at < start + columns && common.high > common.low; ++at) {
        common.low = std::max(common.low, part(band, at).low);
        common.high = std::min(common.high, part(band, at).high);
      }
      // A place further right must be clearly better, so that labels do not jump around.
      if (common.high - common.low > (best.high - best.low) * 1.02F) {
        best = common;
        place = start;
      }
    }
    if (best.high <= best.low) return;
    const time_ns begin = curves_.range.begin;
    lane_.labels.push_back(
        {band,
         {begin + static_cast<time_ns>(get_left(place)), begin + static_cast<time_ns>(get_left(place + columns))},
         static_cast<double>(best.low),
         static_cast<double>(best.high)});
  }

  series_lane& lane_;
  const query::series& curves_;
  query::track_kind kind_;
  const theme& colours_;
  std::size_t width_ = 0;
  double ns_per_bin_ = 0;
  std::vector<std::pair<double, const band_stack*>> order_;
  // Reused by later calls, because lanes are laid out in each frame of a zoom.
  static thread_local std::vector<draw::box> areas_;
  static thread_local std::vector<draw::box> marks_;
  static thread_local std::vector<draw::box> dots_;
  static thread_local std::vector<visible_part> parts_;  ///< Sorted by band, then by column.
};
thread_local std::vector<draw::box> lane_painter::areas_;
thread_local std::vector<draw::box> lane_painter::marks_;
thread_local std::vector<draw::box> lane_painter::dots_;
thread_local std::vector<visible_part> lane_painter::parts_;

}  // namespace

bool is_sampled(const query::band& band) {
  return band.role == query::band_role::untracked || band.role == query::band_role::recorder ||
         band.role == query::band_role::total;
}

double compute_height(const query::band& band, std::size_t bin, query::track_kind kind) {
  if (bin >= band.bins.size()) return 0;
  const query::bin& value = band.bins[bin];
  if (kind == query::track_kind::memory) return value.at_peak;
  if (kind != query::track_kind::bandwidth) return value.maximum;
  if (bin >= band.busy.size() || !(band.busy[bin] > 0)) return value.mean;
  return std::min(value.maximum, value.mean / static_cast<double>(std::min(1.0F, band.busy[bin])));
}

float usual_height(query::track_kind kind) {
  if (kind == query::track_kind::memory) return 100;
  return kind == query::track_kind::pool || kind == query::track_kind::bandwidth ? 72 : 46;
}

std::vector<series_lane> list_lanes(const query::series& curves, query::track_kind kind) {
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
  series_lane& whole = lanes.emplace_back();
  whole.levels = list_levels(curves, kind);
  if (curves.bands.size() == 1) whole.direction = curves.bands[0].direction;
  const bool by_category =
      std::any_of(curves.bands.begin(), curves.bands.end(), [](const auto& b) { return b.by_category; });
  whole.height = by_category ? 140 : usual_height(kind);
  if (kind != query::track_kind::memory) return lanes;
  series_lane device;
  device.height = 44;
  // Insert the total first: it is the highest, so the others must be in front of it.
  for (const query::band_role role : {query::band_role::total, query::band_role::untracked, query::band_role::recorder})
    for (std::size_t i = 0; i < curves.bands.size(); ++i)
      if (curves.bands[i].role == role) device.levels.insert(device.levels.begin(), {{i}, band_mark::dots});
  if (device.levels.empty()) return lanes;
  whole.limits = false;
  if (whole.levels.empty()) lanes.clear();
  lanes.push_back(std::move(device));
  return lanes;
}

double find_highest(const series_lane& lane, const query::series& curves, query::track_kind kind) {
  double highest = 0;
  for (std::size_t at = 0; at < measure_width(curves); ++at)
    for (const band_stack& each : lane.levels) {
      double total = 0;
      for (const std::size_t band : each.bands) total += value_at(curves, band, at, kind);
      highest = std::max(highest, total);
    }
  return highest;
}

std::string_view brief(const query::band& band, band_mark mark) {
  switch (band.role) {
    case query::band_role::untracked:
      return "Untracked";
    case query::band_role::recorder:
      return "Profiler overhead";
    case query::band_role::total:
      return "Whole GPU";
    case query::band_role::used:
      if (mark == band_mark::outline &&
          (band.kind == trace::memory_kind::device || band.kind == trace::memory_kind::pinned))
        return band.layer == trace::layer::driver ? "Reserved (driver)" : "Reserved (pool)";
      return band.label;
    case query::band_role::reserved:
    case query::band_role::value:
      break;
  }
  return band.label;
}

std::string_view get_term(const query::band& band, band_mark mark) {
  switch (band.role) {
    case query::band_role::untracked:
      return "untracked";
    case query::band_role::recorder:
      return "profiler overhead";
    case query::band_role::total:
      return "whole GPU";
    case query::band_role::reserved:
      return "reserved";
    case query::band_role::value:
      return band.direction == trace::direction::unknown ? "counter" : "bandwidth";
    case query::band_role::used:
      break;
  }
  if (mark == band_mark::outline) return "reserved";
  if (band.by_category) return get_term(band.category);
  if (band.layer != trace::layer::driver) return get_term(band.layer);
  const std::string_view kind = get_term(band.kind);
  return kind.empty() ? get_term(band.layer) : kind;
}

void fill(series_lane& lane, const query::series& curves, query::track_kind kind, const theme& colours,
          const std::vector<std::size_t>& label_width) {
  lane_painter(lane, curves, kind, colours).paint(label_width);
}

}  // namespace sluice::gui
