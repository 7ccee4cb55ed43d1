#include "app/gui/views/transfers/copy_chart.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/format.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using metrics::copy_cell;
using metrics::copy_table;
using metrics::transfer_statistics;

ImU32 choose_colour(const copy_cell& cell, const theme& colours) {
  if (!has_host_side(cell.direction)) return colours.directions[static_cast<std::size_t>(cell.direction)];
  return colours.memory[static_cast<std::size_t>(cell.host_side)];
}

std::string_view get_kind(const copy_cell& cell) {
  return has_host_side(cell.direction) && cell.host_side != trace::memory_kind::unknown ? name_of_side(cell.host_side)
                                                                                        : get_name(cell.direction);
}

/// Makes the axes as long as the copies of all directions need, so that they stay when the user chooses a direction.
void scale_axes(chart_model& model, const copy_table& table, double peak) {
  double min_size = 1e300, max_size = 1, min_rate = 1e300, max_rate = std::max(peak, 1.0);
  for (const copy_cell& cell : table.cells) {
    min_size = std::min(min_size, std::max(static_cast<double>(cell.size), 1.0));
    max_size = std::max(max_size, static_cast<double>(cell.size));
    min_rate = std::min(min_rate, std::max(cell.rate, 1.0));
    max_rate = std::max(max_rate, cell.rate);
  }
  const double low = std::floor(std::log2(min_size) - 0.3);
  model.x = {.unit = format::value_unit::bytes,
             .logarithmic = true,
             .low = std::exp2(low),
             .high = std::exp2(std::max(std::ceil(std::log2(max_size) + 0.3), low + 4)),
             .title = "copy size"};
  model.y = {.unit = format::value_unit::rate, .logarithmic = true, .title = "rate"};
  const double low_rate = std::floor(std::log10(min_rate) - 0.05);
  model.y.low = std::pow(10.0, low_rate);
  model.y.high = std::pow(10.0, std::max(std::log10(max_rate) + 0.15, low_rate + 1));
}

/// A line through the fastest copies of each octave of sizes, that is, the attainable rate for copies of that size: one
/// for each device and direction.
void add_fastest(chart_model& model, const copy_table& table, const std::optional<copy_way>& only, ImU32 colour) {
  const auto& cells = table.cells;
  for (std::size_t i = 0; i < cells.size();) {
    const copy_way way{cells[i].device, cells[i].direction};
    std::vector<const copy_cell*> best(64, nullptr);
    for (; i < cells.size() && way.takes(cells[i]); ++i) {
      const auto octave = static_cast<std::size_t>(std::log2(std::max(static_cast<double>(cells[i].size), 1.0)));
      const copy_cell*& cell = best[std::min(best.size() - 1, octave)];
      if (cell == nullptr || cells[i].rate > cell->rate) cell = &cells[i];
    }
    if (only && way != *only) continue;
    chart_series& line = model.series.emplace_back();
    line.name = "fastest of each size";
    line.look = series_look::line;
    line.colour = colour;
    line.thickness = 1;
    for (const copy_cell* each : best)
      if (each != nullptr) line.points.push_back({.begin = static_cast<double>(each->size), .high = each->rate});
  }
}

void add_dots(chart_model& model, const copy_table& table, const std::optional<copy_way>& only, const theme& colours) {
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    const copy_cell& cell = table.cells[i];
    if (only && !only->takes(cell)) continue;
    const std::string_view kind = get_kind(cell);
    auto dots = std::find_if(model.series.begin(), model.series.end(), [&](const chart_series& each) {
      return each.look == series_look::dots && each.name == kind;
    });
    if (dots == model.series.end()) {
      dots = model.series.insert(model.series.end(), chart_series{});
      dots->name = kind;
      dots->look = series_look::dots;
      dots->colour = choose_colour(cell, colours);
    }
    dots->points.push_back({.begin = static_cast<double>(cell.size),
                            .high = cell.rate,
                            .item = static_cast<std::uint32_t>(i),
                            .radius = 3 + 0.4F * std::min(std::log2(static_cast<float>(cell.count)), 10.0F)});
  }
}

chart_tip describe(const copy_cell& cell) {
  chart_tip tip;
  tip.say(std::string(get_name(cell.direction)) + ", " + std::string(get_kind(cell)));
  tip.field("copies", format_count(cell.count));
  if (cell.count > 1) tip.field("total", format_bytes(cell.bytes));
  tip.field(cell.count > 1 ? "fastest" : "size", format_bytes(cell.size) + " at " + format_rate(cell.rate));
  tip.field("at", format_moment(cell.begin) + ", took " + format_time(cell.end - cell.begin));
  return tip;
}

}  // namespace

chart_model make_copies_model(const copy_table& table, const metrics::range_statistics& statistics,
                              const std::optional<copy_way>& only, const theme& colours) {
  chart_model model;
  if (table.cells.empty()) return model;
  double peak = 0, attainable = 0;
  for (const transfer_statistics& each : statistics.transfers) {
    if (only && !only->takes(each)) continue;
    peak = std::max(peak, each.link_peak);
    attainable = std::max(attainable, each.attainable);
  }
  scale_axes(model, table, peak);
  model.legend = true;
  model.chosen_colour = colours.accent;
  add_dots(model, table, only, colours);
  add_fastest(model, table, only, colours.muted);
  const auto limit = [&](double rate, const char* name, ImU32 colour) {
    if (rate > 0)
      model.marks.push_back({.kind = mark_kind::level,
                             .at = rate,
                             .label = std::string(name) + " " + format_rate(rate),
                             .colour = colour,
                             .thickness = 1.5F});
  };
  limit(peak, "link's peak", colours.limit);
  limit(attainable, "measured", colours.muted);
  model.clickable = [](const chart_pointer& pointer) { return pointer.series.has_value(); };
  model.tip = [&table](const chart_pointer& pointer) {
    return pointer.series ? describe(table.cells[pointer.item]) : chart_tip{};
  };
  return model;
}

}  // namespace sluice::gui
