#include "core/summary/tiles/tile_bins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/timeline/slice_kind.hpp"

namespace sluice::analysis {
namespace {

using timeline::tile;
using trace::tile_bins;

curve_bins fill_curve(const tile& where, const index_curve& curve, const stack_peaks& peaks) {
  curve_bins made;
  made.bins.resize(tile_bins);
  bool constant = true;
  const double first = curve.at(where.begin);
  const time_ns length = time_ns{1} << where.bin_level();
  curve.split({where.begin, where.end()}, tile_bins, [&](std::uint32_t i, const timeline::extent& part, double) {
    curve_bin& bin = made.bins[i];
    bin = {part.minimum, part.maximum, part.integral / static_cast<double>(part.length), part.minimum, part.minimum};
    if (part.minimum == part.maximum) {
      bin.mean = part.minimum;  // Without rounding errors of the division.
    } else {
      bin.last = curve.at(where.begin + static_cast<time_ns>(i + 1) * length - 1);
      bin.at_peak = peaks.value(curve.about.curve, i, part);
    }
    constant = constant && part.minimum == first && part.maximum == first;
  });
  if (constant) return {{}, first};
  return made;
}

void add_slice(const tile& where, const timeline::slice_item& item, time_ns end_of_all, lane_bins& bins) {
  bins.resize(tile_bins);
  const time_ns end = item.end == latest_time ? std::max(item.begin, end_of_all) : item.end;
  const unsigned level = where.bin_level();
  const auto bin_of = [&](time_ns time) {
    return static_cast<std::size_t>((std::clamp(time, where.begin, where.end() - 1) - where.begin) >> level);
  };
  const std::size_t last = bin_of(std::max(item.begin, end - 1));
  for (std::size_t i = bin_of(item.begin); i <= last; ++i) {
    const time_ns begin = where.begin + (static_cast<time_ns>(i) << level);
    const time_ns bin_end = begin + (time_ns{1} << level);
    lane_bin& bin = bins[i];
    saturating_add(bin.busy, std::max<time_ns>(0, std::min(end, bin_end) - std::max(item.begin, begin)));
    if (item.begin >= begin && item.begin < bin_end) {
      ++bin.count;
      if (!is_step(item.kind)) bin.bytes += item.bytes;
    }
    if (end - item.begin <= bin.length) continue;
    if (is_step(item.kind)) bin.bytes = item.bytes;
    bin.length = end - item.begin;
    bin.event = item.event;
    bin.name = item.name;
    bin.kind = item.kind;
    bin.tag = item.tag;
  }
}

/// Rounds a mean to a millionth. The lower four bytes are invisible noise that takes as much space as the rest of the
/// bin. The result may lie outside of the bin's minimum and maximum, so readers clamp it.
double stored_mean(double mean) {
  constexpr unsigned noise = 32;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(mean) >> noise << noise);
}

bool is_integer(double value) { return std::abs(value) < 0x1p53 && std::trunc(value) == value; }

bool is_of_integers(const curve_bins& curve) {
  const auto has_integers = [](const curve_bin& bin) {
    return is_integer(bin.minimum) && is_integer(bin.maximum) && is_integer(bin.last) && is_integer(bin.at_peak);
  };
  return curve.bins.empty() ? is_integer(curve.constant)
                            : std::all_of(curve.bins.begin(), curve.bins.end(), has_integers);
}

trace::integer_bin_row integer_row(time_ns time, std::uint32_t curve, const curve_bin& bin, double before, bool first) {
  const double height = bin.maximum - bin.minimum;
  if (first) before = bin.minimum;
  return {.time = time,
          .curve = curve,
          .begin = first ? static_cast<std::int64_t>(before) : 0,
          .fall = static_cast<std::int64_t>(before - bin.minimum),
          .rise = static_cast<std::int64_t>(bin.maximum - before),
          .last = static_cast<std::uint64_t>(bin.last - bin.minimum),
          .mean = height > 0 ? trace::small_share((bin.mean - bin.minimum) / height) : std::uint16_t{0},
          .below_peak = static_cast<std::uint64_t>(bin.maximum - bin.at_peak)};
}

/// Calls `use(position, bin, value before, is first)` for the bins that differ from the value before them.
template <class Use>
void for_each_change(const curve_bins& curve, Use&& use) {
  double before = 0;
  bool first = true;
  const std::size_t count = curve.bins.empty() ? 1 : tile_bins;
  for (std::size_t i = 0; i < count; ++i) {
    const curve_bin bin = curve.at(i);
    if (bin.minimum == before && bin.maximum == before) continue;
    use(i, bin, before, std::exchange(first, false));
    before = bin.last;
  }
}

/// Rounds busy time to a 1024th of a bin.
time_ns stored_busy(time_ns busy, unsigned bin_level) {
  const unsigned noise = bin_level > 10 ? bin_level - 10 : 0;
  const time_ns half = noise > 0 ? time_ns{1} << (noise - 1) : 0;
  return (busy + half) >> noise << noise;
}

/// Rounds a length to its upper eight bits, which suffice to find the longest slice.
time_ns stored_length(time_ns length) {
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(length)));
  const unsigned noise = bits > 8 ? bits - 8 : 0;
  return length >> noise << noise;
}

template <class Bins>
bool has_any(std::span<const filled_tile> parts, std::vector<Bins> filled_tile::*list, std::size_t place) {
  return std::any_of(parts.begin(), parts.end(), [&](const filled_tile& part) { return !(part.*list)[place].empty(); });
}

/// For each stack and each bin of the joined tile: which of the bins joined there has the stack's highest sum.
using chosen_bins = std::vector<std::vector<std::uint8_t>>;

chosen_bins choose_peaks(std::span<const filled_tile> parts, const curve_stacks& stacks) {
  const std::size_t fan_out = parts.size();
  chosen_bins all(stacks.size());
  for (std::size_t s = 0; s < stacks.size(); ++s) {
    for (const filled_tile& part : parts) {
      for (std::size_t i = 0; i < tile_bins; i += fan_out) {
        double highest = -std::numeric_limits<double>::infinity();
        std::size_t chosen = 0;
        for (std::size_t k = 0; k < fan_out; ++k) {
          double sum = 0;
          for (const std::uint32_t curve : stacks.counted()[s]) sum += part.curves[curve].at(i + k).at_peak;
          if (sum <= highest) continue;
          highest = sum;
          chosen = k;
        }
        all[s].push_back(static_cast<std::uint8_t>(chosen));
      }
    }
  }
  return all;
}

/// `chosen`: of the curve's stack; null if it is in none.
curve_bins join_curve(std::span<const filled_tile> parts, std::size_t place, const std::vector<std::uint8_t>* chosen) {
  const double first = parts.front().curves[place].constant;
  const bool constant = std::all_of(parts.begin(), parts.end(), [&](const filled_tile& part) {
    return part.curves[place].bins.empty() && part.curves[place].constant == first;
  });
  if (constant) return {{}, first};
  const std::size_t fan_out = parts.size();
  curve_bins made;
  made.bins.reserve(tile_bins);
  for (const filled_tile& part : parts) {
    for (std::size_t i = 0; i < tile_bins; i += fan_out) {
      curve_bin sum = part.curves[place].at(i);
      double mean = 0;
      for (std::size_t k = 0; k < fan_out; ++k) {
        const curve_bin each = part.curves[place].at(i + k);
        sum.minimum = std::min(sum.minimum, each.minimum);
        sum.maximum = std::max(sum.maximum, each.maximum);
        mean += each.mean;
        sum.last = each.last;
      }
      sum.at_peak = chosen == nullptr ? sum.maximum : part.curves[place].at(i + (*chosen)[made.bins.size()]).at_peak;
      sum.mean = sum.minimum == sum.maximum ? sum.minimum : mean / static_cast<double>(fan_out);
      made.bins.push_back(sum);
    }
  }
  return made;
}

lane_bins join_lane(std::span<const filled_tile> parts, std::size_t place) {
  if (!has_any(parts, &filled_tile::lanes, place)) return {};
  const std::size_t fan_out = parts.size();
  lane_bins made(tile_bins);
  std::size_t at = 0;
  for (const filled_tile& part : parts) {
    const lane_bins& bins = part.lanes[place];
    for (std::size_t i = 0; i < bins.size(); ++i) made[at + i / fan_out].append(bins[i]);
    at += tile_bins / fan_out;
  }
  return made;
}

}  // namespace

void lane_bin::append(const lane_bin& later) {
  count += later.count;
  saturating_add(busy, later.busy);
  if (!is_step(later.kind)) bytes += later.bytes;
  if (later.length <= length) return;
  if (is_step(later.kind)) bytes = later.bytes;
  length = later.length;
  event = later.event;
  name = later.name;
  kind = later.kind;
  tag = later.tag;
}

std::vector<trace::lane_row> lane_rows(std::span<const index_slices> slices) {
  std::vector<trace::lane_row> rows;
  for (const index_slices& owner : slices) {
    for (std::size_t depth = 0; depth < owner.slices->lanes(); ++depth) {
      trace::lane_row& row = rows.emplace_back(owner.about);
      row.lane = static_cast<std::uint32_t>(rows.size() - 1);
      row.depth = static_cast<std::uint32_t>(depth);
    }
  }
  return rows;
}

filled_tile fill_tile(const tile& where, std::span<const index_curve> curves, const curve_stacks& stacks,
                      std::span<const index_slices> slices, time_ns end_of_all) {
  filled_tile made;
  made.curves.reserve(curves.size());
  std::vector<std::uint32_t> all(curves.size());
  std::iota(all.begin(), all.end(), 0U);
  const stack_peaks peaks(stacks, curves, all, {where.begin, where.end()}, tile_bins);
  for (const index_curve& curve : curves) made.curves.push_back(fill_curve(where, curve, peaks));
  for (const index_slices& owner : slices) {
    const std::size_t first = made.lanes.size();
    made.lanes.resize(first + owner.slices->lanes());
    owner.slices->for_each(where.begin, where.end(), [&](const timeline::slice_item& item, std::uint16_t lane) {
      add_slice(where, item, end_of_all, made.lanes[first + lane]);
    });
  }
  return made;
}

filled_tile join_tiles(std::span<const filled_tile> parts, const curve_stacks& stacks) {
  filled_tile made;
  const chosen_bins chosen = choose_peaks(parts, stacks);
  for (std::size_t i = 0; i < parts.front().curves.size(); ++i) {
    const std::uint32_t stack = stacks.stack_of(i);
    made.curves.push_back(join_curve(parts, i, stack == curve_stacks::none ? nullptr : &chosen[stack]));
  }
  for (std::size_t i = 0; i < parts.front().lanes.size(); ++i) made.lanes.push_back(join_lane(parts, i));
  return made;
}

void write_tile(trace::file_writer& to, const tile& where, const filled_tile& what) {
  const auto time_of = [&](std::size_t bin) { return where.begin + (static_cast<time_ns>(bin) << where.bin_level()); };
  std::vector<trace::curve_bin_row> curve_rows;
  std::vector<trace::integer_bin_row> integer_rows;
  for (std::size_t c = 0; c < what.curves.size(); ++c) {
    const auto number = static_cast<std::uint32_t>(c);
    if (is_of_integers(what.curves[c])) {
      for_each_change(what.curves[c], [&](std::size_t i, const curve_bin& bin, double before, bool first) {
        integer_rows.push_back(integer_row(time_of(i), number, bin, before, first));
      });
    } else {
      for_each_change(what.curves[c], [&](std::size_t i, const curve_bin& bin, double /*before*/, bool /*first*/) {
        curve_rows.push_back(
            {time_of(i), number, bin.minimum, bin.maximum, stored_mean(bin.mean), bin.last, bin.maximum - bin.at_peak});
      });
    }
  }
  std::vector<trace::lane_bin_row> rows;
  for (std::size_t l = 0; l < what.lanes.size(); ++l) {
    for (std::size_t i = 0; i < what.lanes[l].size(); ++i) {
      const lane_bin& bin = what.lanes[l][i];
      if (bin.empty()) continue;
      rows.push_back({time_of(i), static_cast<std::uint32_t>(l), bin.count, stored_busy(bin.busy, where.bin_level()),
                      bin.bytes, stored_length(bin.length), bin.event, bin.name, bin.kind, bin.tag});
    }
  }
  const std::pair over{where.begin, where.end() - 1};
  to.add_summary<trace::curve_bin_row>(curve_rows, over);
  to.add_summary<trace::integer_bin_row>(integer_rows, over);
  to.add_summary<trace::lane_bin_row>(rows, over);
}

}  // namespace sluice::analysis
