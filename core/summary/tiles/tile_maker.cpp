#include "core/summary/tiles/tile_maker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/index/tensor_facts.hpp"

namespace sluice::summary {

using timeline::tile;

namespace {

constexpr std::size_t fan_out = std::size_t{1} << trace::tile_fan_out_log2;

tile get_tile(const trace::section_row& section) {
  return {section.time,
          static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(section.end - section.time)))};
}

/// Tiles with fewer curves and lanes than this, such as those of 64 processes, are all written.
constexpr std::size_t few_owners = 2000;
/// The share of filled bins in a tile of many processes, as measured.
constexpr double filled_bins = 0.25;
/// A tile is written if its number of filled bins is at most this share of the number of its events. A view with
/// narrower bins is drawn from the sections in view, which takes a second if these have a million events.
constexpr double max_bins_an_event = 0.75;
constexpr unsigned max_levels_left_out = 4;

/// True if the tile is the last of the tiles that are directly below the same tile.
bool ends_group(const tile& which) { return ((which.begin >> which.level) & (fan_out - 1)) == fan_out - 1; }

}  // namespace

void tile_maker::go_on(trace::file_writer& to, std::span<const trace::section_row> sections,
                       const trace::snapshot& recording, bool ends) {
  to_ = &to;
  sections_ = sections;
  of_ = &recording;
  whole_ = index::recorded_range(recording);
  root_level_ = ends ? timeline::root_tiles(sections.front().time, sections.back().end - 1).front().level
                     : timeline::highest_tile_level;
}

bool tile_maker::add(const index::event_store& store, std::size_t first, std::size_t last) {
  const auto facts = store.tensors(*of_);
  std::vector<index::index_curve> curves = index::make_curves(store, facts.get(), whole_);
  const std::vector<index::index_slices> slices = index::get_slices(store, facts.get());
  if (!take_numbers(curves, lane_rows(slices))) return false;
  last = std::min(last, sections_.size() - 1);
  const time_range inside = intersect(whole_, {sections_[first].time, sections_[last].end});
  if (inside.length() > 0)
    for (std::size_t c = 0; c < curves.size(); ++c)
      curves_[c].maximum = std::max(curves_[c].maximum, curves[c].over(inside).maximum);
  // In a growing recording, later sections may be shorter than all earlier sections.
  for (std::size_t i = first; i <= last; ++i) {
    const unsigned level = get_tile(sections_[i]).level;
    if (leaves_out_ && level + max_levels_left_out < lowest_level_) return false;
    if (!leaves_out_) lowest_level_ = std::min(lowest_level_, level);
  }
  for (std::size_t i = first; i <= last; ++i) {
    const tile where = get_tile(sections_[i]);
    const unsigned bin_level = std::max(where.level, lowest_level_) - trace::tile_bins_log2;
    filled_tile output = fill_tile(where, bin_level, curves, *stacks_, slices, whole_.end);
    std::vector<lane_bins> lanes(lanes_.size());
    for (std::size_t lane = 0; lane < numbers_.size(); ++lane) lanes[numbers_[lane]] = std::move(output.lanes[lane]);
    output.lanes = std::move(lanes);
    put(where, std::move(output));
  }
  added_ = last + 1;
  return true;
}

bool tile_maker::number_curves(std::vector<index::index_curve>& curves) {
  std::vector<index::index_curve> numbered(curves_.size());
  for (std::size_t i = 0; i < curves.size(); ++i) {
    index::index_curve& curve = curves[i];
    const auto is_it = [&](const trace::curve_row& row) { return index::same_curve(row, curve.about); };
    const bool in_place = i < curves_.size() && is_it(curves_[i]);
    const auto known = in_place ? curves_.begin() + static_cast<std::ptrdiff_t>(i)
                                : std::find_if(curves_.begin(), curves_.end(), is_it);
    const auto number = static_cast<std::size_t>(known - curves_.begin());
    curve.about.curve = static_cast<std::uint32_t>(number);
    if (known == curves_.end()) {
      curves_.push_back(curve.about);
      curves_.back().maximum = -std::numeric_limits<double>::infinity();
      numbered.emplace_back();
    }
    numbered[number] = curve;
  }
  curves = std::move(numbered);
  return std::all_of(curves.begin(), curves.end(),
                     [](const index::index_curve& each) { return each.steps != nullptr || each.sample != nullptr; });
}

bool tile_maker::number_lanes(std::span<const trace::lane_row> lanes) {
  const auto same_lane = [](const trace::lane_row& a, const trace::lane_row& b) {
    return a.depth == b.depth && index::same_owner(a, b);
  };
  if (std::equal(lanes.begin(), lanes.end(), listed_.begin(), listed_.end(), same_lane)) return true;
  listed_.assign(lanes.begin(), lanes.end());
  const auto before = [](const trace::lane_row& a, const trace::lane_row& b) {
    return std::pair(index::find_owner(a), a.depth) < std::pair(index::find_owner(b), b.depth);
  };
  std::map<trace::lane_row, std::uint32_t, decltype(before)> known(before);
  for (const trace::lane_row& row : lanes_) known.emplace(row, row.lane);
  numbers_.clear();
  for (trace::lane_row lane : lanes) {
    lane.lane = static_cast<std::uint32_t>(lanes_.size());
    const auto [place, fresh] = known.try_emplace(lane, lane.lane);
    if (fresh) lanes_.push_back(lane);
    numbers_.push_back(place->second);
  }
  return numbers_.size() == lanes_.size();
}

bool tile_maker::take_numbers(std::vector<index::index_curve>& curves, std::span<const trace::lane_row> lanes) {
  const bool first = !stacks_;
  const std::size_t curves_before = curves_.size(), lanes_before = lanes_.size();
  if (!number_curves(curves) || !number_lanes(lanes)) return false;
  const bool more = curves_.size() > curves_before || lanes_.size() > lanes_before;
  if (first || more) stacks_.emplace(curves_, of_->tables());
  if (first) choose_levels();
  // Earlier shares do not contain the new curves and lanes.
  for (auto& [where, share] : shares_) {
    share.curves.resize(curves_.size());
    share.lanes.resize(lanes_.size());
  }
  return true;
}

void tile_maker::end() {
  for (trace::curve_row& row : curves_)
    if (!std::isfinite(row.maximum)) row.maximum = 0;
  to_->add_summary<trace::curve_row>(curves_);
  to_->add_summary<trace::lane_row>(lanes_);
}

void tile_maker::put_highest(index::recording_facts& into) const {
  for (const trace::curve_row& row : curves_) {
    const double highest = std::isfinite(row.maximum) ? row.maximum : 0;
    const index::memory_key key{row.device, row.layer, row.kind};
    for (index::recording_facts::memory& each : into.memories) {
      if (each.key != key) continue;
      if (row.type == trace::curve_kind::memory) each.highest = highest;
      if (row.type != trace::curve_kind::category) continue;
      for (index::recording_facts::part_of_it& part : each.by_category)
        if (part.kind == static_cast<index::category>(row.category)) part.highest = highest;
    }
    if (row.type == trace::curve_kind::pool_blocks)
      for (index::recording_facts::pool& each : into.pools)
        if (each.pool == row.pool) each.highest = highest;
    if (row.type == trace::curve_kind::rate)
      for (index::recording_facts::direction& each : into.directions)
        if (each.key.device == row.device && each.key.direction == row.way) each.highest_rate = highest;
  }
}

void tile_maker::choose_levels() {
  unsigned lowest = root_level_;
  for (const trace::section_row& each : sections_) lowest = std::min(lowest, get_tile(each).level);
  double events = 0, count = 0;
  for (const trace::section_row& each : sections_) {
    if (get_tile(each).level != lowest) continue;
    events += static_cast<double>(each.events);
    ++count;
  }
  events /= std::max(count, 1.0);
  const double bins = filled_bins * trace::tile_bins * static_cast<double>(curves_.size() + lanes_.size());
  lowest_level_ = lowest;
  leaves_out_ = false;
  if (curves_.size() + lanes_.size() < few_owners) return;
  while (lowest_level_ < std::min(root_level_, lowest + max_levels_left_out) && bins > max_bins_an_event * events) {
    ++lowest_level_;
    leaves_out_ = true;
    events *= fan_out;
  }
}

void tile_maker::put(const tile& where, filled_tile output) {
  if (is_written(where)) write_tile(*to_, where, output);
  if (where.level >= root_level_) return;
  // A tile that is not written is, as a whole, a share of the lowest tile that is written.
  const std::uint32_t bins =
      trace::tile_bins >> std::max(1, static_cast<int>(lowest_level_) - static_cast<int>(where.level));
  shares_.emplace_back(where, is_written(where) ? share_of_tile_above(output, *stacks_) : std::move(output));
  output = {};
  if (!ends_group(where)) return;
  const tile above = timeline::tile_at(where.begin, where.level + trace::tile_fan_out_log2);
  // There is nothing before the first section.
  const auto missing =
      static_cast<std::size_t>(std::max<time_ns>(sections_.front().time - above.begin, 0) >> where.level);
  const std::size_t there = fan_out - std::min(missing, fan_out - 1);
  if (shares_.size() < there) return;
  std::vector<filled_tile> joined(fan_out - there);
  for (filled_tile& empty : joined) {
    empty.curves.resize(curves_.size());
    empty.lanes.resize(lanes_.size());
  }
  for (auto share = shares_.end() - static_cast<std::ptrdiff_t>(there); share != shares_.end(); ++share)
    joined.push_back(std::move(share->second));
  shares_.resize(shares_.size() - there);
  filled_tile made_above = join_shares(joined, bins);
  joined.clear();
  put(above, std::move(made_above));
}

}  // namespace sluice::summary
