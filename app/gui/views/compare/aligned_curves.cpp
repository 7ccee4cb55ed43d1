#include "app/gui/views/compare/aligned_curves.hpp"
#include "app/gui/views/parts/item_menu.hpp"

#include <cmath>
#include <tuple>

#include "app/gui/views/compare/difference_flames.hpp"
#include "app/gui/views/parts/widgets.hpp"

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

float small_width(const view_context& with, const std::string& text) {
  return with.fonts.regular->CalcTextSizeA(with.px(small_text), FLT_MAX, 0, text.c_str()).x;
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
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float text = with.px(small_text);
  ImGui::InvisibleButton("##curves", {std::max(size.x, 1.0F), std::max(size.y, 1.0F)});
  const bool hovered = ImGui::IsItemHovered();
  panel_context_menu(with);
  const auto values =
      format::value_ticks(top_ * 1.02, format::value_unit::bytes, std::max(2, static_cast<int>(size.y / with.px(50))));
  float labels = 0;
  for (const format::tick& each : values.ticks) labels = std::max(labels, small_width(with, each.label));
  const draw::rectangle area{{std::floor(corner.x + labels + with.px(8)), corner.y + with.px(6)},
                             {corner.x + size.x - with.px(8), corner.y + size.y - text - with.px(8)}};
  if (area.width() < with.px(40) || area.height() < with.px(24)) return;
  key now;
  now.by = by;
  now.width = static_cast<int>(area.width());
  now.height = static_cast<int>(area.height());
  now.theme = with.colours.kind;
  for (std::size_t i = 0; i < 2; ++i) {
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
    upload(with);
    for (std::size_t i = 0; i < 2; ++i) upload_line(with, i);
  }
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_axes(with, area, values, list);
  with.boxes.add(list, between_, area, {0, now.width}, static_cast<float>(values.top), with.colours.background);
  for (const draw::box_batch& each : lines_)
    with.boxes.add(list, each, area, {0, now.width}, static_cast<float>(values.top), with.colours.background);
  if (hovered && area.contains(ImGui::GetMousePos())) draw_tip(with, sides, area, list);
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

void aligned_curves::upload(const view_context& with) {
  std::vector<draw::box> boxes;
  for (std::size_t column = 0; column < values_[0].size(); ++column) {
    const double before = values_[0][column];
    const double after = values_[1][column];
    if (before < 0 || after < 0 || before == after) continue;
    draw::box box;
    box.begin = static_cast<float>(column);
    box.end = static_cast<float>(column + 1);
    box.low = static_cast<float>(std::min(before, after));
    box.high = static_cast<float>(std::max(before, after));
    box.colour = mix(after > before ? colour_of_more(with.colours) : colour_of_less(with.colours),
                     with.colours.background, 0.45F);
    if (!boxes.empty() && boxes.back().end == box.begin && boxes.back().low == box.low &&
        boxes.back().high == box.high && boxes.back().colour == box.colour) {
      boxes.back().end = box.end;
    } else {
      boxes.push_back(box);
    }
  }
  between_.assign(0, boxes);
}

void aligned_curves::draw_axes(const view_context& with, const draw::rectangle& area, const format::value_axis& values,
                               ImDrawList& list) const {
  const float text = with.px(small_text);
  for (const format::tick& each : values.ticks) {
    const float y = std::floor(area.max.y - static_cast<float>(each.value / values.top) * area.height());
    list.AddLineH(area.min.x, area.max.x, y, with.colours.grid);
    list.AddText(with.fonts.regular, text,
                 {area.min.x - with.px(6) - small_width(with, each.label), y - text * 0.5F - 1}, with.colours.muted,
                 each.label.c_str());
  }
  list.AddLineH(area.min.x, area.max.x, std::floor(area.max.y), with.colours.line);
  const auto label = [&](double place, const std::string& words) {
    const float x = std::floor(area.min.x + static_cast<float>((place - first_) / (last_ - first_)) * area.width());
    const float wide = small_width(with, words);
    if (x < area.min.x || x + wide * 0.5F > area.max.x) return;
    list.AddLineV(x, area.max.y, area.max.y + with.px(4), with.colours.line);
    list.AddText(with.fonts.regular, text, {std::max(area.min.x, x - wide * 0.5F), area.max.y + with.px(5)},
                 with.colours.muted, words.c_str());
  };
  const int wanted = std::max(2, static_cast<int>(area.width() / with.px(110)));
  if (drawn_.by == alignment::time) {
    const time_range shown{static_cast<time_ns>(first_), static_cast<time_ns>(last_)};
    for (const auto& [time, words] : format::time_ticks(shown, wanted).ticks) label(static_cast<double>(time), words);
    return;
  }
  // The distance of labels is 1, 2 or 5 times a power of ten.
  double step = std::pow(10, std::floor(std::log10(std::max(1.0, (last_ - first_) / wanted))));
  for (const double times : {2.0, 2.5, 2.0})
    if ((last_ - first_) / step > wanted) step *= times;
  for (double place = std::ceil(first_ / step) * step; place <= last_; place += step)
    label(place, "step " + std::to_string(static_cast<long long>(place)));
}

/// Draws a curve as one box per column, which extends to the value of the previous column. With antialiased lines
/// instead, software GL would take several times as long.
void aligned_curves::upload_line(const view_context& with, std::size_t side) {
  static thread_local std::vector<draw::box> boxes;
  boxes.clear();
  const auto units = static_cast<float>(top_);
  const auto rows = static_cast<float>(std::max(1, drawn_.height));
  const float thick = std::ceil(with.px(1.5F)) * units / rows;
  double before = -1;
  for (std::size_t column = 0; column < values_[side].size(); ++column) {
    const double value = values_[side][column];
    const double start = before < 0 ? value : before;
    before = value;
    if (value < 0) continue;
    const auto low = static_cast<float>(std::min(value, start));
    const auto begin = static_cast<float>(column);
    boxes.push_back({begin, begin + 1, std::max(0.0F, low - thick), static_cast<float>(std::max(value, start)),
                     choose_colour(side, with.colours), 0});
  }
  draw::simplify(boxes, units, rows);
  lines_[side].assign(0, boxes);
}

void aligned_curves::draw_tip(const view_context& with, const std::array<aligned_side, 2>& sides,
                              const draw::rectangle& area, ImDrawList& list) const {
  const float x = std::floor(ImGui::GetMousePos().x);
  const auto column = static_cast<std::size_t>(std::max(0.0F, x - area.min.x));
  if (column >= values_[0].size()) return;
  list.AddLineV(x, area.min.y, area.max.y, with.colours.muted);
  if (!begin_tip(with)) return;
  const double place = place_at(static_cast<double>(column));
  if (drawn_.by == alignment::time) {
    ImGui::TextDisabled("%s after the start", format_time(static_cast<time_ns>(place)).c_str());
  } else {
    ImGui::TextDisabled("step %lld", static_cast<long long>(std::floor(place)));
  }
  float wide = 0;
  for (const aligned_side& each : sides) wide = std::max(wide, ImGui::CalcTextSize(each.label.c_str()).x);
  for (std::size_t i = 0; i < 2; ++i) {
    const double value = values_[i][column];
    const std::string words = value < 0 ? std::string("outside the range")
                                        : format_bytes(static_cast<std::uint64_t>(value)) + " at " +
                                              format_moment(axis_map(sides[i], drawn_.by).time_at(place));
    swatch(with, choose_colour(i, with.colours));
    const float begin = ImGui::GetCursorPosX();
    ImGui::TextUnformatted(sides[i].label.c_str());
    ImGui::SameLine(begin + wide + with.px(16));
    ImGui::TextUnformatted(words.c_str());
  }
  end_tip();
}

}  // namespace sluice::gui
