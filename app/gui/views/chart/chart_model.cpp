#include "app/gui/views/chart/chart_model.hpp"

#include <array>
#include <cmath>

namespace sluice::gui {
namespace {

/// The distance of labelled items: 1, 2 or 5 times a power of ten.
std::int64_t stride_of_items(double length, int wanted) {
  std::int64_t step = 1;
  for (int i = 0; length / static_cast<double>(step) > std::max(wanted, 1); ++i)
    step = i % 3 == 1 ? step * 5 / 2 : step * 2;
  return step;
}

std::vector<format::tick> ticks_of_items(const chart_axis& axis, int wanted) {
  std::vector<format::tick> ticks;
  if (!axis.name) return ticks;
  const std::int64_t step = stride_of_items(axis.high - axis.low, wanted);
  const auto first = static_cast<std::int64_t>(std::ceil(axis.low / static_cast<double>(step))) * step;
  for (std::int64_t item = first; static_cast<double>(item) + axis.label_at <= axis.high; item += step)
    if (std::string label = axis.name(item); !label.empty())
      ticks.push_back({static_cast<double>(item) + axis.label_at, std::move(label)});
  return ticks;
}

}  // namespace

double chart_axis::to_share(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return value <= low ? 0 : std::log(value / low) / std::log(high / low);
}

double chart_axis::to_value(double share) const {
  return logarithmic ? low * std::pow(high / low, share) : low + share * (high - low);
}

std::vector<format::tick> chart_axis::ticks(int wanted) const {
  if (kind == axis_kind::items) return ticks_of_items(*this, wanted);
  if (kind == axis_kind::amounts)
    return logarithmic ? format::log_ticks(low, high, unit, wanted) : format::value_ticks(high, unit, wanted).ticks;
  std::vector<format::tick> output;
  for (auto& [at, label] : format::time_ticks({time(low), time(high)}, wanted).ticks)
    output.push_back({place(at), std::move(label)});
  return output;
}

chart_axis make_time_axis(time_range span, std::optional<time_ns> origin) {
  chart_axis axis{.kind = axis_kind::moments, .origin = origin.value_or(span.begin)};
  axis.low = axis.place(span.begin);
  axis.high = axis.low + static_cast<double>(std::max<time_ns>(span.length(), 1));
  return axis;
}

chart_axis make_item_axis(std::size_t count, std::function<std::string(std::int64_t)> name) {
  return {
      .kind = axis_kind::items, .high = static_cast<double>(std::max<std::size_t>(count, 1)), .name = std::move(name)};
}

std::string chart_tip::text() const {
  std::string output;
  for (const line& each : lines)
    output += each.label + (each.label.empty() || each.value.empty() ? "" : "\t") + each.value + "\n";
  return output;
}

const char* get_name(value_scale scale) {
  static constexpr std::array<const char*, value_scale_count> names = {"clipped", "linear", "log"};
  return names[static_cast<std::size_t>(scale)];
}

double clip_above(std::vector<double> values) {
  constexpr std::size_t min_values = 4;
  constexpr double far_higher = 4;      // times the median
  constexpr double space_above = 1.25;  // A bar that is cut off still is visibly higher than the others.
  std::erase_if(values, [](double value) { return !(value > 0) || !std::isfinite(value); });
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double limit = values[(values.size() - 1) / 2] * far_higher;
  const auto above = std::upper_bound(values.begin(), values.end(), limit);
  const auto cut = static_cast<std::size_t>(values.end() - above);
  if (values.size() < min_values || cut == 0 || cut > values.size() / 4) return values.back();
  return *std::prev(above) * space_above;
}

value_scale chart_model::fit(value_scale wanted) {
  std::vector<double> heights;
  double highest = 0;
  double lowest = 1e300;
  for (const chart_series& each : series) {
    if (each.look != series_look::bars) continue;
    for (const chart_point& point : each.points) {
      heights.push_back(point.high);
      if (!(point.high > 0)) continue;
      highest = std::max(highest, point.high);
      lowest = std::min(lowest, point.high);
    }
  }
  y.low = 0;
  y.logarithmic = false;
  y.high = highest > 0 ? highest * 1.02 : 1;
  if (highest <= 0 || wanted == value_scale::linear) return value_scale::linear;
  if (wanted == value_scale::logarithmic) {
    y.logarithmic = true;
    y.low = lowest / 2;  // So that the lowest bar is visible.
    y.high = highest * 1.25;
    return wanted;
  }
  const double end = clip_above(std::move(heights));
  if (!(end < highest)) return value_scale::linear;
  y.high = end;
  return wanted;
}

std::size_t chart_model::cut_off() const {
  std::size_t count = 0;
  for (const chart_series& each : series)
    if (each.look == series_look::bars)
      count += static_cast<std::size_t>(std::count_if(each.points.begin(), each.points.end(),
                                                      [&](const chart_point& point) { return point.high > y.high; }));
  return count;
}

void add_joined(std::vector<chart_point>& points, const chart_point& next) {
  if (!points.empty()) {
    chart_point& last = points.back();
    if (last.end == next.begin && last.low == next.low && last.high == next.high && last.colour == next.colour) {
      last.end = next.end;
      return;
    }
  }
  points.push_back(next);
}

}  // namespace sluice::gui
