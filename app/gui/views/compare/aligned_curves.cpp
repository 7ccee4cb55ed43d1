#include "app/gui/views/compare/aligned_curves.hpp"

#include <cmath>
#include <tuple>

#include "app/gui/views/compare/difference_flames.hpp"
#include "core/base/format.hpp"

namespace sluice::gui {
namespace {

/// The memory track of a device; null if it has none.
const query::track* find_memory_track(const query::track_list& list, trace::device_id device) {
  for (const query::track& each : list.tracks)
    if (each.kind == query::track_kind::memory && each.device == device) return &each;
  return nullptr;
}

/// The highest number of bytes in use in bin `at`, of one memory.
double value_in(const query::series& series, const metrics::memory_statistics& memory, std::size_t at) {
  double sum = 0;
  for (const query::band& band : series.bands)
    if (band.role == query::band_role::used && band.layer == memory.layer && band.kind == memory.kind &&
        at < band.bins.size())
      sum += band.bins[at].maximum;
  return sum;
}

std::size_t get_bins(const query::series& series) {
  std::size_t most = 0;
  for (const query::band& band : series.bands) most = std::max(most, band.bins.size());
  return most;
}

}  // namespace

axis_map::axis_map(const aligned_side& side, alignment by) : origin_(side.origin) {
  if (by == alignment::time || side.about->steps.size() < 2) return;
  const auto& steps = side.about->steps;
  for (const index::step& each : steps) begins_.push_back(each.span.begin);
  stride_ = std::max(1.0, static_cast<double>(side.about->step_count) / static_cast<double>(steps.size()));
  slope_ = std::max(1.0, static_cast<double>(side.about->median_step));
}

double axis_map::get_place(time_ns time) const {
  if (begins_.empty()) return static_cast<double>(time - origin_);
  if (time <= begins_.front()) return static_cast<double>(time - begins_.front()) / slope_;
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), time);
  const auto at = static_cast<double>(next - begins_.begin() - 1);
  const time_ns begin = *(next - 1);
  if (next == begins_.end()) return at * stride_ + static_cast<double>(time - begin) / slope_;
  const auto length = std::max(1.0, static_cast<double>(*next - begin));
  return (at + static_cast<double>(time - begin) / length) * stride_;
}

time_ns axis_map::time_at(double place) const {
  if (begins_.empty()) return origin_ + static_cast<time_ns>(place);
  if (place <= 0) return begins_.front() + static_cast<time_ns>(place * slope_);
  const double at = place / stride_;
  const auto last = static_cast<double>(begins_.size() - 1);
  if (at >= last) return begins_.back() + static_cast<time_ns>((place - last * stride_) * slope_);
  const auto step = static_cast<std::size_t>(at);
  const double share = at - static_cast<double>(step);
  return begins_[step] + static_cast<time_ns>(share * static_cast<double>(begins_[step + 1] - begins_[step]));
}

void aligned_curves::draw(view_context& with, const std::array<aligned_side, 2>& sides, alignment by, ImVec2 size) {
  key now;
  now.by = by;
  now.width = static_cast<int>(width_ > 0 ? width_ : size.x);
  now.theme = with.colours.kind;
  for (std::size_t i = 0; i < 2 && now.width > 0; ++i) {
    now.ranges[i] = sides[i].range;
    now.memories[i] = sides[i].memory;
    if (sides[i].process != trace::process_id::none) {
      const metrics::memory_statistics& statistics = *sides[i].memory;
      query::memory_groups_query wanted{.range = sides[i].range,
                                        .width = static_cast<std::uint32_t>(now.width),
                                        .by = query::memory_grouping::process};
      std::tie(wanted.layer, wanted.device, wanted.kind, wanted.process) =
          std::tie(statistics.layer, statistics.device, statistics.kind, sides[i].process);
      now.own[i] = own_queries_[i].ask(*sides[i].engine, wanted).value;
      continue;
    }
    const auto tracks = tracks_[i].ask(*sides[i].engine, {});
    const query::track* track = tracks ? find_memory_track(*tracks.value, sides[i].memory->device) : nullptr;
    if (track == nullptr) continue;
    const auto result =
        queries_[i].ask(*sides[i].engine, {track->id, sides[i].range, static_cast<std::uint32_t>(now.width)});
    now.series[i] = result.value;
  }
  if (!(now == drawn_)) {
    drawn_ = now;
    resample(sides);
    make_chart(with.colours);
  }
  chart_.tip = [&](const chart_pointer& pointer) { return describe(with, sides, pointer.x); };
  width_ = charts_.draw(with, "##curves", chart_, size).at.area.width();
}

void aligned_curves::resample(const std::array<aligned_side, 2>& sides) {
  const std::array<axis_map, 2> maps = {axis_map(sides[0], drawn_.by), axis_map(sides[1], drawn_.by)};
  first_ = std::min(maps[0].get_place(sides[0].range.begin), maps[1].get_place(sides[1].range.begin));
  last_ = std::max(maps[0].get_place(sides[0].range.end), maps[1].get_place(sides[1].range.end));
  if (drawn_.by == alignment::step) {
    // The time before the first step can be as long as thousands of steps. Show at most a tenth of the length of all
    // steps.
    const double steps =
        static_cast<double>(std::max(sides[0].about->step_count, sides[1].about->step_count)) * 1.1 + 1;
    first_ = std::max(first_, -steps / 11);
    last_ = std::min(last_, steps);
  }
  if (!(last_ > first_)) last_ = first_ + 1;
  top_ = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<double>& values = values_[i];
    values.assign(static_cast<std::size_t>(drawn_.width), -1);
    const query::series* series = drawn_.series[i].get();
    const query::memory_groups* own = drawn_.own[i].get();
    const std::size_t bins = own != nullptr ? own->total.size() : series != nullptr ? get_bins(*series) : 0;
    if (bins == 0) continue;
    const time_range known = own != nullptr ? own->range : series->range;
    if (known.length() <= 0) continue;
    const double bins_per_ns = static_cast<double>(bins) / static_cast<double>(known.length());
    const auto bin_at = [&](time_ns time) {
      return std::clamp(static_cast<double>(time - known.begin) * bins_per_ns, 0.0, static_cast<double>(bins - 1));
    };
    const auto value_at = [&](std::size_t bin) {
      return own != nullptr ? static_cast<double>(own->total[bin]) : value_in(*series, *sides[i].memory, bin);
    };
    for (std::size_t column = 0; column < values.size(); ++column) {
      const time_ns begin = maps[i].time_at(place_at(static_cast<double>(column)));
      const time_ns end = maps[i].time_at(place_at(static_cast<double>(column + 1)));
      if (end <= sides[i].range.begin || begin >= sides[i].range.end) continue;
      const auto last = static_cast<std::size_t>(bin_at(std::max(begin, end - 1)));
      for (auto bin = static_cast<std::size_t>(bin_at(begin)); bin <= last; ++bin)
        values[column] = std::max(values[column], value_at(bin));
      top_ = std::max(top_, values[column]);
    }
  }
}

void aligned_curves::make_chart(const theme& colours) {
  chart_ = {};
  chart_.crosshair = true;
  chart_.x = {.kind = drawn_.by == alignment::time ? axis_kind::moments : axis_kind::items,
              .low = first_,
              .high = last_,
              .label_at = 0};
  chart_.x.name = [](std::int64_t step) { return "step " + std::to_string(step); };
  chart_.y = {.unit = format::value_unit::bytes, .high = top_ * 1.02};
  chart_series& between = chart_.series.emplace_back();
  between.look = series_look::boxes;
  for (std::size_t column = 0; column < values_[0].size(); ++column) {
    const double before = values_[0][column];
    const double after = values_[1][column];
    if (before < 0 || after < 0 || before == after) continue;
    const ImU32 colour = after > before ? colour_of_more(colours) : colour_of_less(colours);
    add_joined(between.points, {.begin = place_at(static_cast<double>(column)),
                                .end = place_at(static_cast<double>(column + 1)),
                                .low = std::min(before, after),
                                .high = std::max(before, after),
                                .colour = mix(colour, colours.background, 0.45F)});
  }
  for (std::size_t side = 0; side < 2; ++side) {
    chart_series& curve = chart_.series.emplace_back();
    curve.look = series_look::steps;
    curve.colour = choose_colour(side, colours);
    for (std::size_t column = 0; column < values_[side].size(); ++column)
      if (values_[side][column] >= 0)
        add_joined(curve.points, {.begin = place_at(static_cast<double>(column)),
                                  .end = place_at(static_cast<double>(column + 1)),
                                  .high = values_[side][column]});
  }
}

chart_tip aligned_curves::describe(const view_context& with, const std::array<aligned_side, 2>& sides,
                                   double place) const {
  chart_tip tip;
  const double share = (place - first_) / (last_ - first_);
  const auto column = static_cast<std::size_t>(std::max(0.0, share * static_cast<double>(values_[0].size())));
  if (column >= values_[0].size()) return tip;
  if (drawn_.by == alignment::time) {
    tip.hint(format_time(static_cast<time_ns>(place)) + " after the start");
  } else {
    tip.hint("step " + std::to_string(static_cast<long long>(std::floor(place))));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const double value = values_[i][column];
    tip.field(sides[i].label,
              value < 0 ? std::string("outside the range")
                        : format_bytes(static_cast<std::uint64_t>(value)) + " at " +
                              format_moment(axis_map(sides[i], drawn_.by).time_at(place)),
              choose_colour(i, with.colours));
  }
  return tip;
}

}  // namespace sluice::gui
