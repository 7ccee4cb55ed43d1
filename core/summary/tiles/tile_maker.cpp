#include "core/summary/tiles/tile_maker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/index/tensor_facts.hpp"

namespace sluice::analysis {

using summaries::tile;

namespace {

constexpr std::size_t fan_out = std::size_t{1} << trace::tile_fan_out_log2;

tile tile_of(const trace::epoch_row& epoch) {
  return {epoch.time, static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(epoch.end - epoch.time)))};
}

/// The last of those under one tile.
bool ends_group(const tile& which) { return ((which.begin >> which.level) & (fan_out - 1)) == fan_out - 1; }

}  // namespace

tile_maker::tile_maker(trace::file_writer& to, std::span<const trace::epoch_row> epochs, const trace::snapshot& of)
    : to_(to), epochs_(epochs), of_(of), whole_(whole_of(of)) {
  root_level_ = summaries::root_tiles(whole_.begin, whole_.end - 1).front().level;
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
    lanes_ = lane_rows(slices);
  }
  if (curves.size() != curves_.size() || lane_rows(slices).size() != lanes_.size()) return false;
  last = std::min(last, epochs_.size() - 1);
  const time_range inside = common_of(whole_, {epochs_[first].time, epochs_[last].end});
  if (inside.length() > 0)
    for (std::size_t c = 0; c < curves.size(); ++c)
      curves_[c].maximum = std::max(curves_[c].maximum, curves[c].over(inside).maximum);
  for (std::size_t i = first; i <= last; ++i) {
    const tile where = tile_of(epochs_[i]);
    put(where, fill_tile(where, curves, slices, whole_.end));
  }
  return true;
}

void tile_maker::end() {
  for (trace::curve_row& row : curves_)
    if (!std::isfinite(row.maximum)) row.maximum = 0;
  to_.add_summary<trace::curve_row>(curves_);
  to_.add_summary<trace::lane_row>(lanes_);
}

void tile_maker::put_highest(whole_facts& into) const {
  for (const trace::curve_row& row : curves_) {
    const double highest = std::isfinite(row.maximum) ? row.maximum : 0;
    const memory_key key{row.device, row.level, row.kind};
    for (whole_facts::memory& each : into.memories) {
      if (each.key != key) continue;
      if (row.what == trace::curve_kind::memory) each.highest = highest;
      if (row.what != trace::curve_kind::category) continue;
      for (whole_facts::part_of_it& part : each.by_category)
        if (part.what == static_cast<category>(row.category)) part.highest = highest;
    }
    if (row.what == trace::curve_kind::pool_blocks)
      for (whole_facts::pool& each : into.pools)
        if (each.pool == row.pool) each.highest = highest;
    if (row.what == trace::curve_kind::rate)
      for (whole_facts::direction& each : into.directions)
        if (each.key.device == row.device && each.key.direction == row.way) each.highest_rate = highest;
  }
}

void tile_maker::put(const tile& where, filled_tile made) {
  write_tile(to_, where, made);
  if (where.level >= root_level_) return;
  waiting_.emplace_back(where, std::move(made));
  if (!ends_group(where) || waiting_.size() < fan_out) return;
  std::vector<filled_tile> parts;
  for (auto part = waiting_.end() - fan_out; part != waiting_.end(); ++part) parts.push_back(std::move(part->second));
  waiting_.resize(waiting_.size() - fan_out);
  put(summaries::tile_at(where.begin, where.level + trace::tile_fan_out_log2), join_tiles(parts));
}

}  // namespace sluice::analysis
