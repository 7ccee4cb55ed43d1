#include "core/summary/tiles/tile_maker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/index/tensor_facts.hpp"

namespace sluice::analysis {

using timeline::tile;

namespace {

constexpr std::size_t fan_out = std::size_t{1} << trace::tile_fan_out_log2;

tile tile_of(const trace::section_row& section) {
  return {section.time,
          static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(section.end - section.time)))};
}

/// True for the last of the tiles under one tile.
bool ends_group(const tile& which) { return ((which.begin >> which.level) & (fan_out - 1)) == fan_out - 1; }

}  // namespace

tile_maker::tile_maker(trace::file_writer& to, std::span<const trace::section_row> sections, const trace::snapshot& of)
    : to_(to), sections_(sections), of_(of), whole_(time_range_of(of)) {
  root_level_ = timeline::root_tiles(whole_.begin, whole_.end - 1).front().level;
}

bool tile_maker::add(const index& from, std::size_t first, std::size_t last) {
  const auto facts = from.tensors(of_);
  const std::vector<index_curve> curves = curves_of(from, facts.get(), whole_);
  const std::vector<index_slices> slices = slices_of(from, facts.get());
  if (curves_.empty()) {
    for (const index_curve& curve : curves) {
      curves_.push_back(curve.about);
      curves_.back().maximum = -std::numeric_limits<double>::infinity();
    }
    stacks_.emplace(curves_, of_.tables());
    lanes_ = lane_rows(slices);
  }
  if (curves.size() != curves_.size() || lane_rows(slices).size() != lanes_.size()) return false;
  last = std::min(last, sections_.size() - 1);
  const time_range inside = common_of(whole_, {sections_[first].time, sections_[last].end});
  if (inside.length() > 0)
    for (std::size_t c = 0; c < curves.size(); ++c)
      curves_[c].maximum = std::max(curves_[c].maximum, curves[c].over(inside).maximum);
  for (std::size_t i = first; i <= last; ++i) {
    const tile where = tile_of(sections_[i]);
    put(where, fill_tile(where, curves, *stacks_, slices, whole_.end));
  }
  return true;
}

void tile_maker::end() {
  for (trace::curve_row& row : curves_)
    if (!std::isfinite(row.maximum)) row.maximum = 0;
  to_.add_summary<trace::curve_row>(curves_);
  to_.add_summary<trace::lane_row>(lanes_);
}

void tile_maker::put_highest(recording_facts& into) const {
  for (const trace::curve_row& row : curves_) {
    const double highest = std::isfinite(row.maximum) ? row.maximum : 0;
    const memory_key key{row.device, row.layer, row.kind};
    for (recording_facts::memory& each : into.memories) {
      if (each.key != key) continue;
      if (row.what == trace::curve_kind::memory) each.highest = highest;
      if (row.what != trace::curve_kind::category) continue;
      for (recording_facts::part_of_it& part : each.by_category)
        if (part.what == static_cast<category>(row.category)) part.highest = highest;
    }
    if (row.what == trace::curve_kind::pool_blocks)
      for (recording_facts::pool& each : into.pools)
        if (each.pool == row.pool) each.highest = highest;
    if (row.what == trace::curve_kind::rate)
      for (recording_facts::direction& each : into.directions)
        if (each.key.device == row.device && each.key.direction == row.way) each.highest_rate = highest;
  }
}

void tile_maker::put(const tile& where, const filled_tile& made) {
  write_tile(to_, where, made);
  if (where.level >= root_level_) return;
  shares_.emplace_back(where, share_of_tile_above(made, *stacks_));
  if (!ends_group(where) || shares_.size() < fan_out) return;
  std::vector<filled_tile> joined;
  for (auto share = shares_.end() - fan_out; share != shares_.end(); ++share)
    joined.push_back(std::move(share->second));
  shares_.resize(shares_.size() - fan_out);
  const filled_tile above = join_shares(joined);
  joined.clear();
  put(timeline::tile_at(where.begin, where.level + trace::tile_fan_out_log2), above);
}

}  // namespace sluice::analysis
