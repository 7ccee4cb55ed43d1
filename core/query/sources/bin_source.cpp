#include "core/query/sources/bin_source.hpp"

#include <algorithm>

#include "core/index/curve_stacks.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::query {

bin_source::bin_source(const sources& source, bool categories) : from_(source) {
  if (source.stored != nullptr) {
    const summary::stored_tiles& tiles = *source.stored->tiles;
    curves_.assign(tiles.curves().begin(), tiles.curves().end());
    for (std::uint32_t i = 0; i < tiles.lanes().size(); ++i) {
      const trace::lane_row& lane = tiles.lanes()[i];
      if (owners_.empty() || !index::same_owner(owners_.back().about, lane)) owners_.push_back({lane, 0, i});
      ++owners_.back().lanes;
    }
    return;
  }
  if (categories) facts_ = source.index.tensors(source.trace);
  of_index_ = index::make_curves(source.index, facts_.get(), index::recorded_range(source.trace));
  for (const index::index_curve& curve : of_index_) curves_.push_back(curve.about);
  slices_ = index::get_slices(source.index, nullptr);
  for (const index::index_slices& each : slices_)
    owners_.push_back({each.about, static_cast<std::uint32_t>(each.slices->lanes()), 0});
}

summary::bin_sources bin_source::bins() const {
  const bool reads = from_.draws == drawn_from::sections && from_.stored->sections;
  const auto read = [this](std::span<const std::size_t> sections) {
    return from_.stored->sections->get_each(sections, index::section_scope::timeline,
                                            [this] { return !from_.cancelled; });
  };
  if (reads) return {read, true};
  return {from_.stored->in_memory, from_.draws != drawn_from::memory};
}

void bin_source::say(summary::bin_detail detail) const {
  if (from_.detail != nullptr) *from_.detail = std::max(*from_.detail, detail);
}

result<bin_source::sampled> bin_source::sample(std::span<const std::uint32_t> places, time_range range,
                                               std::uint32_t width) const {
  sampled output;
  if (from_.stored != nullptr) {
    const summary::bin_grid grid = from_.stored->tiles->grid_over(range, width);
    auto detail = summary::bin_detail::exact;
    auto sampled_bins = from_.stored->tiles->sample(places, grid, bins(), detail);
    if (!sampled_bins) return tl::unexpected<error>(sampled_bins.error());
    say(detail);
    output.range = grid.range();
    output.bins = std::move(*sampled_bins);
    return output;
  }
  output.range = range;
  const index::curve_stacks stacks(curves_, from_.trace.tables());
  output.bins = index::sample_curves(of_index_, stacks, places, range, width);
  return output;
}

result<void> bin_source::draw(std::size_t place, time_range range, std::uint32_t width,
                              std::vector<timeline::drawn_slice>& into) const {
  if (from_.stored != nullptr) {
    auto detail = summary::bin_detail::exact;
    auto drawn = from_.stored->tiles->draw(owners_[place].first, from_.stored->tiles->grid_over(range, width), bins(),
                                           detail, into);
    say(detail);
    return drawn;
  }
  into.clear();
  slices_[place].slices->draw(range.begin, range.end, width, into);
  return {};
}

}  // namespace sluice::query
