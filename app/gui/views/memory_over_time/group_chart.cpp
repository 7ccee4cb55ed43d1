#include "app/gui/views/memory_over_time/group_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

void draw_bands(const view_context& with, const time_chart& at, const memory_bands& bands,
                std::optional<std::uint64_t> chosen) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  static thread_local std::vector<double> lower;
  lower.assign(bands.parts(), 0.0);
  for (const memory_band& each : bands.bands) {
    const bool dimmed = chosen && *chosen != each.key;
    const ImU32 colour = dimmed ? mix(each.colour, with.colours.background, 0.65F) : each.colour;
    const auto upper = [&](std::size_t part) {
      return bands.nested ? each.bytes[part] : lower[part] + each.bytes[part];
    };
    for (std::size_t part = 0; part < bands.parts();) {
      // Draw adjacent parts of equal height as one rectangle.
      const double low = lower[part], high = upper(part);
      std::size_t next = part + 1;
      while (next < bands.parts() && lower[next] == low && upper(next) == high) ++next;
      const float left = std::floor(at.to_x(bands.get_begin(part))), right = std::floor(at.to_x(bands.get_begin(next)));
      const float top = std::floor(at.to_y(high)), bottom = std::floor(at.to_y(bands.nested ? 0 : low));
      if (bottom > top && right >= at.area.min.x && left <= at.area.max.x)
        list.AddRectFilled({left, top}, {std::max(right, left + 1), bottom}, colour);
      part = next;
    }
    if (!bands.nested)
      for (std::size_t part = 0; part < bands.parts(); ++part) lower[part] += each.bytes[part];
  }
}

const memory_band* band_at(const time_chart& at, const memory_bands& bands, ImVec2 point) {
  const auto part = bands.part_at(at.time_at(point.x));
  if (!part) return nullptr;
  const double value = static_cast<double>((at.area.max.y - point.y) / at.area.height()) * at.top;
  if (bands.nested) {
    const memory_band* innermost = nullptr;
    for (const memory_band& each : bands.bands)
      if (value <= each.bytes[*part]) innermost = &each;
    return innermost;
  }
  double sum = 0;
  for (const memory_band& each : bands.bands) {
    sum += each.bytes[*part];
    if (value < sum) return &each;
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
