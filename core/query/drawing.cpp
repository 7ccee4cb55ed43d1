#include "core/query/drawing.hpp"

#include "core/analysis/tensors.hpp"

namespace sluice::query {

drawing::drawing(const sources& from, bool categories) : from_(from) {
  if (from.stored != nullptr) {
    const analysis::stored_tiles& tiles = *from.stored->tiles;
    curves_.assign(tiles.curves().begin(), tiles.curves().end());
    for (const trace::lane_row& lane : tiles.lanes()) {
      if (owners_.empty() || !analysis::same_owner(owners_.back().about, lane)) owners_.push_back({lane, 0});
      ++owners_.back().lanes;
    }
    return;
  }
  if (categories) facts_ = from.index.tensors(from.trace);
  of_index_ = analysis::curves_of(from.index, facts_.get(), analysis::whole_of(from.trace));
  for (const analysis::index_curve& curve : of_index_) curves_.push_back(curve.about);
  slices_ = analysis::slices_of(from.index);
  for (const analysis::index_slices& each : slices_)
    owners_.push_back({each.about, static_cast<std::uint32_t>(each.slices->lanes())});
}

const analysis::stored_tiles::epoch_source& drawing::epochs() const {
  return from_.in_haste ? from_.stored->at_hand : from_.stored->epochs;
}

result<drawing::sampled> drawing::sample(std::span<const std::uint32_t> places, time_range range,
                                         std::uint32_t width) const {
  sampled made;
  if (from_.stored != nullptr) {
    const analysis::bin_grid grid = from_.stored->tiles->grid_over(range, width);
    bool coarse = false;
    auto bins = from_.stored->tiles->sample(places, grid, epochs(), coarse);
    if (!bins) return tl::unexpected<error>(bins.error());
    if (coarse && from_.coarse != nullptr) *from_.coarse = true;
    made.range = grid.range();
    for (const std::vector<analysis::curve_bin>& curve : *bins) {
      std::vector<bin>& to = made.bins.emplace_back();
      to.reserve(curve.size());
      for (const analysis::curve_bin& each : curve) to.push_back({each.minimum, each.maximum, each.mean});
    }
    return made;
  }
  made.range = range;
  for (const std::uint32_t place : places) {
    std::vector<bin>& to = made.bins.emplace_back(width);
    of_index_[place].split(range, width, [&](std::uint32_t i, const summaries::extent& part, double at_begin) {
      to[i] = part.empty() ? bin{at_begin, at_begin, at_begin}
                           : bin{part.minimum, part.maximum, part.integral / static_cast<double>(part.length)};
    });
  }
  return made;
}

result<std::vector<summaries::drawn_slice>> drawing::draw(std::size_t place, time_range range,
                                                          std::uint32_t width) const {
  if (from_.stored != nullptr) {
    bool coarse = false;
    auto drawn = from_.stored->tiles->draw(owners_[place].about.lane, from_.stored->tiles->grid_over(range, width),
                                           epochs(), coarse);
    if (coarse && from_.coarse != nullptr) *from_.coarse = true;
    return drawn;
  }
  std::vector<summaries::drawn_slice> drawn;
  slices_[place].slices->draw(range.begin, range.end, width, drawn);
  return drawn;
}

}  // namespace sluice::query
