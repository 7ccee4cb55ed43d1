#include "app/gui/views/idle/gap_lengths_chart.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"

namespace sluice::gui {

chart_model make_gap_lengths_model(const metrics::gap_lengths& lengths, const theme& colours) {
  chart_model model;
  const auto& bins = lengths.bins;
  const auto any = [](const metrics::gap_lengths::bin& bin) { return bin.count > 0; };
  const auto first = std::find_if(bins.begin(), bins.end(), any);
  if (first == bins.end()) return model;
  const auto low = static_cast<std::size_t>(first - bins.begin());
  const auto end = static_cast<std::size_t>(bins.rend() - std::find_if(bins.rbegin(), bins.rend(), any));
  const auto length_at = [](std::size_t bin) { return std::exp2(static_cast<double>(bin)); };
  model.x = {.unit = format::value_unit::nanoseconds,
             .logarithmic = true,
             .low = length_at(low),
             .high = length_at(end),
             .title = "gap length"};
  model.y = {.unit = format::value_unit::nanoseconds, .title = "idle"};
  model.scales = true;
  chart_series& bars = model.series.emplace_back();
  bars.parted = true;
  bars.colour = colours.muted;
  for (std::size_t i = low; i < end; ++i)
    bars.points.push_back({.begin = length_at(i),
                           .end = length_at(i + 1),
                           .high = static_cast<double>(bins[i].total),
                           .item = static_cast<std::uint32_t>(i)});
  model.tip = [bins](const chart_pointer& pointer) {
    chart_tip tip;
    if (!pointer.series || bins[pointer.item].count == 0) return tip;
    const auto length = [](std::uint32_t bin) { return format_time(time_ns{1} << std::min(bin, 62U)); };
    tip.say(length(pointer.item) + " to " + length(pointer.item + 1));
    tip.field("gaps", format_count(bins[pointer.item].count));
    tip.field("idle", format_time(bins[pointer.item].total));
    return tip;
  };
  return model;
}

}  // namespace sluice::gui
