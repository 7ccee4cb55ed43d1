#include "core/summary/tiles/tile_bins.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/trace/columns/codec.hpp"

namespace sluice::summary {
namespace {

using timeline::tile;
using trace::tile_bins;

/// The number of bins of a tile that make up one bin of the tile above.
constexpr std::uint32_t bins_in_one = 1U << trace::tile_fan_out_log2;
constexpr std::uint32_t shared_bins = tile_bins / bins_in_one;

curve_bins fill_curve(const tile& where, unsigned bin_level, const index::index_curve& curve,
                      const index::stack_peaks& peaks) {
  curve_bins output;
  if (curve.is_constant_in({where.begin, where.end()})) {
    const double value = curve.at(where.begin);
    output.append(0, {value, value, value, value, value});
    return output;
  }
  const time_ns length = time_ns{1} << bin_level;
  const std::uint32_t bins = 1U << (where.level - bin_level);
  curve.split({where.begin, where.end()}, bins, [&](std::uint32_t i, const timeline::extent& part, double) {
    curve_bin bin{part.minimum, part.maximum, part.integral / static_cast<double>(part.length), part.minimum,
                  part.minimum};
    if (part.minimum == part.maximum) {
      bin.mean = part.minimum;  // This takes the exact value, because the division would round it.
    } else {
      bin.last = curve.at(where.begin + static_cast<time_ns>(i + 1) * length - 1);
      bin.at_peak = peaks.value(curve.about.curve, i, part);
    }
    output.append(i, bin);
  });
  return output;
}

void add_slice(const tile& where, unsigned level, const timeline::slice_item& item, time_ns end_of_all,
               lane_bins& bins) {
  const time_ns end = item.end == latest_time ? std::max(item.begin, end_of_all) : item.end;
  const auto find_bin = [&](time_ns time) {
    return static_cast<std::uint32_t>((std::clamp(time, where.begin, where.end() - 1) - where.begin) >> level);
  };
  const auto part_in = [&](std::uint32_t i) {
    const time_ns begin = where.begin + (static_cast<time_ns>(i) << level);
    const time_ns bin_end = begin + (time_ns{1} << level);
    const bool begins = item.begin >= begin && item.begin < bin_end;
    lane_bin part;
    part.count = begins ? 1 : 0;
    part.busy = std::max<time_ns>(0, std::min(end, bin_end) - std::max(item.begin, begin));
    part.bytes = begins || timeline::is_step(item.kind) ? item.bytes : 0;
    part.length = end - item.begin;
    part.event = item.event;
    part.name = item.name;
    part.kind = item.kind;
    part.tag = item.tag;
    return part;
  };
  const std::uint32_t first = find_bin(item.begin), last = find_bin(std::max(item.begin, end - 1));
  bins.at(first).append(part_in(first));
  if (last > first + 1) bins.append(first + 1, last, part_in(first + 1));
  if (last > first) bins.at(last).append(part_in(last));
}

/// Rounds a mean to a millionth. The lower four bytes are invisible noise, and would take as much space as the rest of
/// the bin. The result may be outside the bin's minimum and maximum, so readers clamp it.
double stored_mean(double mean) {
  constexpr unsigned noise = 32;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(mean) >> noise << noise);
}

bool is_integer(double value) { return std::abs(value) < 0x1p53 && std::trunc(value) == value; }

bool is_of_integers(const curve_bins& curve) {
  return std::all_of(curve.changes.begin(), curve.changes.end(), [](const curve_bins::change& each) {
    return is_integer(each.value.minimum) && is_integer(each.value.maximum) && is_integer(each.value.last) &&
           is_integer(each.value.at_peak);
  });
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

/// Visits all bins of a curve in order.
class curve_walk {
 public:
  explicit curve_walk(const curve_bins& bins) : of_(bins) {}
  /// The number of the next bin that differs from the previous one; `tile_bins` if there is none.
  [[nodiscard]] std::uint32_t next_change() const {
    return next_ < of_.changes.size() ? of_.changes[next_].bin : tile_bins;
  }
  /// Returns bin `bin`. Call in order of bins. Only bins without a change may be skipped.
  curve_bin at(std::uint32_t bin) {
    if (next_change() != bin) return {value_, value_, value_, value_, value_};
    const curve_bin& current = of_.changes[next_++].value;
    value_ = current.last;
    return current;
  }

 private:
  const curve_bins& of_;
  std::size_t next_ = 0;
  double value_ = 0;
};

/// For each bin of a tile's share, the position of the bin with the highest sum of the `counted` curves among the bins
/// that are merged into it.
using chosen_bins = std::vector<std::uint8_t>;

chosen_bins choose_peaks(const filled_tile& part, std::span<const std::uint32_t> counted) {
  std::vector<double> sums(tile_bins, 0);
  for (const std::uint32_t curve : counted) {
    curve_walk bins(part.curves[curve]);
    for (std::uint32_t i = 0; i < tile_bins; ++i) sums[i] += bins.at(i).at_peak;
  }
  chosen_bins chosen(shared_bins, 0);
  for (std::uint32_t i = 0; i < shared_bins; ++i) {
    const auto joined = sums.begin() + static_cast<std::ptrdiff_t>(i * bins_in_one);
    chosen[i] = static_cast<std::uint8_t>(std::max_element(joined, joined + bins_in_one) - joined);
  }
  return chosen;
}

/// `chosen`: the result of `choose_peaks` for the curve's stack; null if the curve is in no stack.
curve_bins compute_share(const curve_bins& part, const chosen_bins* chosen) {
  curve_bins output;
  for (curve_walk bins(part); bins.next_change() < tile_bins;) {
    const std::uint32_t to = bins.next_change() / bins_in_one;
    std::array<curve_bin, bins_in_one> joined;
    for (std::uint32_t k = 0; k < bins_in_one; ++k) joined[k] = bins.at(to * bins_in_one + k);
    curve_bin sum = joined.front();
    double mean = 0;
    for (const curve_bin& each : joined) {
      sum.minimum = std::min(sum.minimum, each.minimum);
      sum.maximum = std::max(sum.maximum, each.maximum);
      mean += each.mean;
    }
    sum.last = joined.back().last;
    sum.at_peak = chosen == nullptr ? sum.maximum : joined[(*chosen)[to]].at_peak;
    sum.mean = sum.minimum == sum.maximum ? sum.minimum : mean / static_cast<double>(bins_in_one);
    output.append(to, sum);
  }
  output.changes.shrink_to_fit();  // Free unused memory, because the share is kept until the neighbouring tiles exist.
  return output;
}

lane_bins compute_share(const lane_bins& part) {
  lane_bins bins;
  for (const lane_bins::run& each : part.runs) {
    std::uint32_t bin = each.first;
    const auto append_until = [&](std::uint32_t end) {
      for (; bin < end; ++bin) bins.at(bin / bins_in_one).append(each.value);
    };
    const std::uint32_t whole_from = (each.first + bins_in_one - 1) / bins_in_one, whole_to = each.end() / bins_in_one;
    if (whole_from < whole_to) {
      append_until(whole_from * bins_in_one);
      lane_bin joined;
      for (std::uint32_t k = 0; k < bins_in_one; ++k) joined.append(each.value);
      bins.append(whole_from, whole_to, joined);
      bin = whole_to * bins_in_one;
    }
    append_until(each.end());
  }
  bins.runs.shrink_to_fit();
  return bins;
}

/// Readers read only the chunks of a tile that contain the curves and lanes to draw. A chunk ends with the curve or
/// lane with which it reaches this many rows. Few tiles of one process have that many rows, and a tile of hundreds of
/// processes has a million.
constexpr std::size_t enough_rows = 8192;
static_assert(enough_rows + tile_bins <= trace::max_chunk_rows);

/// The rows of a tile that wait until they fill a chunk.
template <class Row>
class waiting_rows {
 public:
  waiting_rows(trace::file_writer& to, std::pair<time_ns, time_ns> over) : to_(to), over_(over) {}

  void add(const Row& row) { rows_.push_back(row); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  void write() {
    to_.add_summary<Row>(rows_, over_);
    rows_.clear();
  }

 private:
  trace::file_writer& to_;
  std::pair<time_ns, time_ns> over_;
  std::vector<Row> rows_;
};

void append_share(curve_bins& to, std::uint32_t first, const curve_bins& share) {
  // A share's bins start from a value of 0.
  if (share.changes.empty() || share.changes.front().bin > 0) to.append(first, {});
  for (const curve_bins::change& each : share.changes) to.append(first + each.bin, each.value);
}

}  // namespace

void lane_bin::append(const lane_bin& later) {
  count += later.count;
  saturating_add(busy, later.busy);
  if (!timeline::is_step(later.kind)) bytes += later.bytes;
  if (later.length <= length) return;
  if (timeline::is_step(later.kind)) bytes = later.bytes;
  length = later.length;
  event = later.event;
  name = later.name;
  kind = later.kind;
  tag = later.tag;
}

lane_bin& lane_bins::at(std::uint32_t bin) {
  if (runs.empty() || runs.back().end() <= bin) return runs.emplace_back(run{bin, 1, {}}).value;
  auto place = std::lower_bound(runs.begin(), runs.end(), bin,
                                [](const run& each, std::uint32_t number) { return each.end() <= number; });
  if (bin < place->first) return runs.insert(place, run{bin, 1, {}})->value;
  // Take the bin out of its run.
  if (const std::uint32_t before = bin - place->first; before > 0) {
    place = runs.insert(place, run{place->first, before, place->value}) + 1;
    place->first = bin;
    place->count -= before;
  }
  if (place->count > 1) {
    place = runs.insert(place + 1, run{bin + 1, place->count - 1, place->value}) - 1;
    place->count = 1;
  }
  return place->value;
}

void lane_bins::append(std::uint32_t first, std::uint32_t end, const lane_bin& current) {
  if (runs.empty() || runs.back().end() <= first) {
    lane_bin alone;
    alone.append(current);
    runs.push_back({first, end - first, alone});
    return;
  }
  for (std::uint32_t bin = first; bin < end; ++bin) at(bin).append(current);
}

std::vector<trace::lane_row> lane_rows(std::span<const index::index_slices> slices) {
  std::vector<trace::lane_row> rows;
  for (const index::index_slices& owner : slices) {
    for (std::size_t depth = 0; depth < owner.slices->lanes(); ++depth) {
      trace::lane_row& row = rows.emplace_back(owner.about);
      row.lane = static_cast<std::uint32_t>(rows.size() - 1);
      row.depth = static_cast<std::uint32_t>(depth);
    }
  }
  return rows;
}

filled_tile fill_tile(const tile& where, unsigned bin_level, std::span<const index::index_curve> curves,
                      const index::curve_stacks& stacks, std::span<const index::index_slices> slices,
                      time_ns end_of_all) {
  filled_tile output;
  output.curves.reserve(curves.size());
  std::vector<std::uint32_t> values(curves.size());
  std::iota(values.begin(), values.end(), 0U);
  const index::stack_peaks peaks(stacks, curves, values, {where.begin, where.end()}, 1U << (where.level - bin_level));
  for (const index::index_curve& curve : curves) output.curves.push_back(fill_curve(where, bin_level, curve, peaks));
  for (const index::index_slices& owner : slices) {
    const std::size_t first = output.lanes.size();
    output.lanes.resize(first + owner.slices->lanes());
    owner.slices->for_each(where.begin, where.end(), [&](const timeline::slice_item& item, std::uint16_t lane) {
      if (first + lane >= output.lanes.size()) return;  // The tile has no lane for this slice.
      add_slice(where, bin_level, item, end_of_all, output.lanes[first + lane]);
    });
  }
  return output;
}

filled_tile share_of_tile_above(const filled_tile& part, const index::curve_stacks& stacks) {
  filled_tile tile;
  tile.curves.reserve(part.curves.size());
  tile.lanes.reserve(part.lanes.size());
  std::vector<chosen_bins> chosen;
  chosen.reserve(stacks.size());
  for (const std::vector<std::uint32_t>& counted : stacks.counted()) chosen.push_back(choose_peaks(part, counted));
  for (std::size_t i = 0; i < part.curves.size(); ++i) {
    const std::uint32_t stack = stacks.find_stack(i);
    tile.curves.push_back(compute_share(part.curves[i], stack == index::curve_stacks::none ? nullptr : &chosen[stack]));
  }
  for (const lane_bins& lane : part.lanes) tile.lanes.push_back(compute_share(lane));
  return tile;
}

filled_tile join_shares(std::span<const filled_tile> shares, std::uint32_t bins) {
  filled_tile tile;
  tile.curves.resize(shares.front().curves.size());
  tile.lanes.resize(shares.front().lanes.size());
  for (std::size_t i = 0; i < tile.curves.size(); ++i) {
    std::size_t changes = shares.size();
    for (const filled_tile& share : shares) changes += share.curves[i].changes.size();
    tile.curves[i].changes.reserve(changes);
  }
  for (std::size_t i = 0; i < tile.lanes.size(); ++i) {
    std::size_t runs = 0;
    for (const filled_tile& share : shares) runs += share.lanes[i].runs.size();
    tile.lanes[i].runs.reserve(runs);
  }
  std::uint32_t first = 0;
  for (const filled_tile& share : shares) {
    for (std::size_t i = 0; i < tile.curves.size(); ++i) append_share(tile.curves[i], first, share.curves[i]);
    for (std::size_t i = 0; i < tile.lanes.size(); ++i)
      for (const lane_bins::run& each : share.lanes[i].runs)
        tile.lanes[i].runs.push_back({first + each.first, each.count, each.value});
    first += bins;
  }
  return tile;
}

void write_tile(trace::file_writer& to, const tile& where, const filled_tile& subject) {
  const auto get_time = [&](std::size_t bin) { return where.begin + (static_cast<time_ns>(bin) << where.bin_level()); };
  const std::pair over{where.begin, where.end() - 1};
  waiting_rows<trace::curve_bin_row> curve_rows(to, over);
  waiting_rows<trace::integer_bin_row> integer_rows(to, over);
  for (std::size_t c = 0; c < subject.curves.size(); ++c) {
    const auto number = static_cast<std::uint32_t>(c);
    const bool integers = is_of_integers(subject.curves[c]);
    double before = 0;
    bool first = true;
    for (const auto& [i, bin] : subject.curves[c].changes) {
      if (integers)
        integer_rows.add(integer_row(get_time(i), number, bin, before, first));
      else
        curve_rows.add({get_time(i), number, bin.minimum, bin.maximum, stored_mean(bin.mean), bin.last,
                        bin.maximum - bin.at_peak});
      before = bin.last;
      first = false;
    }
    // Both kinds of chunks end with the same curve, so that any two chunks contain either the same curves or disjoint
    // curves.
    if (curve_rows.size() + integer_rows.size() < enough_rows && c + 1 < subject.curves.size()) continue;
    curve_rows.write();
    integer_rows.write();
  }
  waiting_rows<trace::lane_bin_row> lane_rows(to, over);
  for (std::size_t l = 0; l < subject.lanes.size(); ++l) {
    for (const auto& [first, count, bin] : subject.lanes[l].runs)
      for (std::uint32_t i = first; i < first + count; ++i)
        lane_rows.add({get_time(i), static_cast<std::uint32_t>(l), bin.count, stored_busy(bin.busy, where.bin_level()),
                       bin.bytes, stored_length(bin.length), bin.event, bin.name, bin.kind, bin.tag});
    if (lane_rows.size() >= enough_rows || l + 1 == subject.lanes.size()) lane_rows.write();
  }
}

}  // namespace sluice::summary
