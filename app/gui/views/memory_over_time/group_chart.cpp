#include "app/gui/views/memory_over_time/group_chart.hpp"

#include <algorithm>
#include <array>

namespace sluice::gui {
namespace {

/// The colours of groups, the most distinct first: the palette of categories, followed by the same colours mixed with
/// the text colour.
ImU32 colour_number(const theme& colours, std::size_t number) {
  using index::category;
  constexpr std::array order = {category::activation, category::optimizer_state, category::weight,
                                category::gradient,   category::input,           category::workspace};
  const ImU32 plain = colours.categories[static_cast<std::size_t>(order[number % order.size()])];
  return number < order.size() ? plain
                               : mix(plain, colours.kind == theme_kind::dark ? colours.text : colours.background, 0.5F);
}

}  // namespace

double memory_bands::total(std::size_t part) const {
  double sum = 0;
  for (const memory_band& each : bands) sum = nested ? std::max(sum, each.bytes[part]) : sum + each.bytes[part];
  return sum;
}

std::optional<std::size_t> memory_bands::part_at(time_ns time) const {
  if (parts() == 0 || time < range.begin || time >= range.end) return std::nullopt;
  const double share = static_cast<double>(time - range.begin) / static_cast<double>(range.length());
  return std::min(parts() - 1, static_cast<std::size_t>(share * static_cast<double>(parts())));
}

time_ns memory_bands::get_begin(std::size_t part) const {
  const double share = static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(parts(), 1));
  return range.begin + static_cast<time_ns>(share * static_cast<double>(range.length()));
}

time_ns memory_bands::get_moment(std::size_t part) const {
  return part < moments.size() ? moments[part] : get_begin(part);
}

void memory_bands::settle() {
  highest = 0;
  highest_part = 0;
  for (std::size_t part = 0; part < parts(); ++part) {
    const double here = total(part);
    if (here <= highest) continue;
    highest = here;
    highest_part = part;
  }
}

std::vector<chart_series> make_band_series(const memory_bands& bands) {
  std::vector<chart_series> output;
  std::vector<double> lower(bands.parts());
  for (const memory_band& each : bands.bands) {
    chart_series& series = output.emplace_back();
    series.look = series_look::boxes;
    series.colour = each.colour;
    for (std::size_t part = 0; part < bands.parts(); ++part) {
      const double high = lower[part] + each.bytes[part];
      if (high > lower[part])
        add_joined(series.points, {.begin = static_cast<double>(bands.get_begin(part) - bands.range.begin),
                                   .end = static_cast<double>(bands.get_begin(part + 1) - bands.range.begin),
                                   .low = lower[part],
                                   .high = high});
      if (!bands.nested) lower[part] = high;
    }
  }
  return output;
}

const memory_band* band_at(const memory_bands& bands, std::size_t part, double bytes) {
  if (bands.nested) {
    const memory_band* innermost = nullptr;
    for (const memory_band& each : bands.bands)
      if (bytes <= each.bytes[part]) innermost = &each;
    return innermost;
  }
  double sum = 0;
  for (const memory_band& each : bands.bands) {
    sum += each.bytes[part];
    if (bytes < sum) return &each;
  }
  return nullptr;
}

void band_colours::begin_result() {
  for (slot& each : slots_) each.used = false;
}

ImU32 band_colours::of(const view_context& with, std::uint64_t key) {
  const auto known = std::find_if(slots_.begin(), slots_.end(), [&](const slot& each) { return each.key == key; });
  if (known != slots_.end()) {
    known->used = true;
    return colour_number(with.colours, known->colour);
  }
  if (slots_.size() < count) {
    slots_.push_back({key, slots_.size()});
    return colour_number(with.colours, slots_.back().colour);
  }
  auto free = std::find_if(slots_.begin(), slots_.end(), [](const slot& each) { return !each.used; });
  if (free == slots_.end()) free = slots_.begin();
  free->key = key;
  free->used = true;
  return colour_number(with.colours, free->colour);
}

}  // namespace sluice::gui
