#include "core/summary/tiles/stored_tiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/timeline/slice_kind.hpp"

namespace sluice::summary {
namespace {

using timeline::tile;
using trace::row_type;
using trace::tile_bins;

/// The maximum number of curves or lanes, more than any recording has. This limit is needed because a few corrupt bytes
/// could claim very many rows.
constexpr std::size_t max_rows = std::size_t{1} << 18;
/// Bins that are more than 2^4 = 16 times too wide show too little to replace the requested bins.
constexpr unsigned max_levels_above = 4;

template <class Row>
bool read_all(const trace::snapshot& recording, row_type type, std::vector<Row>& into) {
  bool sound = true;
  recording.for_each_summary(type, [&](const trace::chunk_info& chunk) {
    if (!sound || into.size() + chunk.rows > max_rows) {
      sound = false;
      return;
    }
    const auto rows = recording.read_summary<Row>(chunk);  // Readers of sections need their own rows.
    sound = rows.has_value();
    if (sound) into.insert(into.end(), (*rows)->begin(), (*rows)->end());
  });
  return sound;
}

/// Returns the level of the span [begin, end) if it is aligned and its length is a power of two; 0 if a tile cannot
/// have this span.
unsigned get_level(time_ns begin, time_ns end) {
  if (begin < -latest_time * 2 || end > latest_time * 2 || end <= begin) return 0;
  const auto length = static_cast<std::uint64_t>(end - begin);
  if ((length & (length - 1)) != 0 || (begin & static_cast<time_ns>(length - 1)) != 0) return 0;
  const auto level = static_cast<unsigned>(std::countr_zero(length));
  return level >= timeline::lowest_tile_level ? level : 0;
}

/// True if each section is a tile. The result is the same as that of `get_level` for each section, at a fraction of the
/// cost.
bool are_tiles(const section_list& sections) {
  if (sections.begin() < -latest_time * 2 || sections.end() > latest_time * 2) return false;
  std::uint64_t wrong = 0;
  auto begin = static_cast<std::uint64_t>(sections.begin());
  std::uint64_t shortest = UINT64_MAX;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto end = static_cast<std::uint64_t>(sections.at(i).end);
    const std::uint64_t length = end - begin;
    wrong |= (length | begin) & (length - 1);
    shortest = std::min(shortest, length);
    begin = end;
  }
  return wrong == 0 && shortest >= std::uint64_t{1} << timeline::lowest_tile_level;
}

/// Returns the length above which a value is closer, by ratio, to twice `length` than to `length`.
double half_way_to_twice(time_ns length) { return std::numbers::sqrt2 * static_cast<double>(length); }

/// Returns the level whose bin length, a power of two, is closest to `length` by ratio.
unsigned level_nearest_to(time_ns length) {
  const auto below = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(length)) - 1);
  return static_cast<double>(length) > half_way_to_twice(time_ns{1} << below) ? below + 1 : below;
}

/// Returns the level of the narrowest tiles at a section. This is the section's own level, unless the file has no tiles
/// of that level. `levels` has one bit for each level with tiles.
unsigned lowest_level_at(time_range section, std::uint64_t levels) {
  const unsigned own = get_level(section.begin, section.end);
  const std::uint64_t from_own = levels >> own << own;
  return from_own == 0 ? own : static_cast<unsigned>(std::countr_zero(from_own));
}

/// Merges the slice drawn last with the previous slice if both are the same event. The slices of their lane begin at
/// index `lane`.
void join_last(std::size_t lane, std::vector<timeline::drawn_slice>& drawn) {
  if (drawn.size() < lane + 2) return;
  const timeline::drawn_slice& next = drawn.back();
  timeline::drawn_slice& last = drawn[drawn.size() - 2];
  // Steps may have no event, so compare their numbers. A step is counted in each part, so take the maximum count.
  const bool steps = timeline::is_step(next.item.kind);
  const bool same = last.item.event == next.item.event && (!steps || last.item.bytes == next.item.bytes);
  if (!same || last.item.end < next.item.begin) return;
  const auto covered = [](const timeline::drawn_slice& s) {
    return static_cast<double>(s.busy) * static_cast<double>(s.item.end - s.item.begin);
  };
  const double busy = covered(last) + covered(next);
  last.item.end = std::max(last.item.end, next.item.end);
  if (!steps) last.item.bytes += next.item.bytes;
  last.count = std::max(1U, steps ? std::max(last.count, next.count) : last.count + next.count);
  const time_ns length = last.item.end - last.item.begin;
  last.busy = length > 0 ? static_cast<float>(std::min(1.0, busy / static_cast<double>(length))) : 1;
  drawn.pop_back();
}

/// Converts a bin of a tile to a slice, in place, because building the slice elsewhere and copying it took twice as
/// long.
void fill(timeline::drawn_slice& slice, const drawn_bin& bin, time_range over, std::size_t lane) {
  slice.item = {over.begin, over.end, bin.event, static_cast<trace::string_id>(bin.name), bin.bytes, bin.kind, bin.tag};
  slice.busy = bin.busy;
  if (bin.count == 0) {  // The slice began before this bin, and its end is known.
    const double busy = std::round(static_cast<double>(bin.busy) * static_cast<double>(over.length()));
    slice.item.end = saturating_sum(over.begin, saturating_cast<time_ns>(busy));
    slice.busy = 1;
  }
  slice.count = bin.count;
  slice.lane = static_cast<std::uint16_t>(lane);
}

}  // namespace

bin_grid stored_tiles::grid_over(time_range range, std::uint32_t width) const {
  const time_ns total = sections_->end() - sections_->begin();
  const auto near = [&](time_ns time) {
    return std::clamp(time, sections_->begin() - total, sections_->end() + total);
  };
  const time_range over{near(range.begin), std::max(near(range.begin) + 1, near(range.end))};
  const time_ns pixel = std::max<time_ns>(over.length() / std::max<std::uint32_t>(width, 1), 1);
  bin_grid grid;
  // A bin must not be wider than a tile.
  grid.level = std::min(root_level_, level_nearest_to(pixel));
  grid.begin = over.begin >> grid.level << grid.level;
  grid.count = static_cast<std::uint32_t>(((over.end - 1 - grid.begin) >> grid.level) + 1);
  return grid;
}

time_ns stored_tiles::longest_of_smaller(time_range range, std::uint32_t width) const {
  const unsigned level = grid_over(range, width).level;
  if (level == 0) return 1;
  const auto pixels = static_cast<time_ns>(std::max<std::uint32_t>(width, 1));
  return static_cast<time_ns>(half_way_to_twice(time_ns{1} << (level - 1))) * pixels;
}

std::shared_ptr<const stored_tiles> stored_tiles::of(std::shared_ptr<const trace::snapshot> trace,
                                                     std::size_t cache_bytes) {
  if (!trace->has_summaries()) return nullptr;
  std::shared_ptr<stored_tiles> tiles(new stored_tiles(cache_bytes));
  tiles->trace_ = std::move(trace);
  return tiles->load() ? tiles : nullptr;
}

namespace {

/// Sorts the lanes. In a growing recording, lanes are numbered in the order in which they appeared.
void put_together_by_owner(std::vector<trace::lane_row>& lanes) {
  const auto before = [](const trace::lane_row& a, const trace::lane_row& b) {
    return index::find_owner(a) < index::find_owner(b);
  };
  std::map<trace::lane_row, std::uint32_t, decltype(before)> firsts(before);
  for (const trace::lane_row& each : lanes) firsts.try_emplace(each, each.lane);
  std::stable_sort(lanes.begin(), lanes.end(), [&](const trace::lane_row& a, const trace::lane_row& b) {
    return std::pair(firsts.at(a), a.depth) < std::pair(firsts.at(b), b.depth);
  });
}

}  // namespace

bool stored_tiles::load() {
  sections_ = section_list::of(trace_);
  if (!sections_ || !are_tiles(*sections_)) return false;
  if (!read_all(*trace_, row_type::curve, curves_) || !read_all(*trace_, row_type::lane, lanes_)) return false;
  for (std::size_t i = 0; i < curves_.size(); ++i)
    if (curves_[i].curve != i || !std::isfinite(curves_[i].maximum)) return false;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (lanes_[i].lane != i || lanes_[i].depth >= timeline::slice_set::lane_limit) return false;
  put_together_by_owner(lanes_);
  const auto roots = timeline::root_tiles(sections_->begin(), sections_->end() - 1);
  if (roots.back().end() != sections_->end()) return false;  // There is nothing before the first section.
  root_level_ = roots.front().level;
  stacks_.emplace(curves_, trace_->tables());
  curves_drawn_ = drawn_times(curves_.size());
  lanes_drawn_ = drawn_times(lanes_.size());
  levels_ = trace_->summaries_to_search().tile_levels();
  return (levels_ & 1) == 0;  // All spans can be tile spans.
}

std::vector<tile> stored_tiles::tiles_under(const bin_grid& grid) const {
  std::vector<tile> tiles;
  for (const piece& each : cut(grid))
    if (!each.outside && (tiles.empty() || tiles.back() != each.from)) tiles.push_back(each.from);
  return tiles;
}

bool stored_tiles::draws_sections(const bin_grid& grid) const {
  const std::vector<piece> pieces = cut(grid);
  return std::any_of(pieces.begin(), pieces.end(), [](const piece& each) { return each.section.has_value(); });
}

time_ns stored_tiles::longest_of_sections(time_ns time, std::uint32_t width) const {
  const auto pixels = static_cast<time_ns>(std::max<std::uint32_t>(width, 1));
  // A section is drawn from its events if the length of a pixel is closer to half of the bins of the section's tile
  // than to these bins.
  const time_ns bin =
      time_ns{1} << (lowest_level_at(sections_->at(sections_->section_at(time)), levels_) - trace::tile_bins_log2);
  return std::clamp<time_ns>(static_cast<time_ns>(half_way_to_twice(bin) / 2) + 1, 1, latest_time / pixels) * pixels;
}

/// Returns the level of the tile to use at `time`: `wanted`, or a higher level at which everything to draw is cached.
unsigned stored_tiles::level_to_use(time_ns time, unsigned wanted, const drawn_owners& owners, bool reads_tiles) const {
  if (reads_tiles) return wanted;
  const unsigned highest = std::min(wanted + max_levels_above, root_level_);
  const auto is_kept = [&](const part_key& each) { return kept_.at_hand(each) != nullptr; };
  for (unsigned level = wanted; level <= highest; ++level) {
    if (!is_level(level)) continue;
    const std::vector<part_key> parts = get_parts(timeline::tile_at(time, level), owners);
    if (std::all_of(parts.begin(), parts.end(), is_kept)) return level;
  }
  return wanted;
}

/// Splits a grid into pieces that each belong to one tile or section and have the requested bins.
std::vector<stored_tiles::piece> stored_tiles::cut(const bin_grid& grid) const {
  std::vector<piece> items;
  const auto bins_until = [&](time_ns time) {
    const time_ns offset = std::clamp<time_ns>(time - grid.begin, 0, grid.range().length());
    return static_cast<std::uint32_t>((offset + grid.bin() - 1) >> grid.level);
  };
  const auto add = [&](piece next, std::uint32_t until) {
    next.count = std::max(1U, std::min(until, grid.count) - next.first);
    items.push_back(next);
  };
  std::uint32_t at = 0;
  for (; at < grid.count; at = items.back().first + items.back().count) {
    const time_ns time = grid.begin + (static_cast<time_ns>(at) << grid.level);
    piece next;
    next.first = at;
    if (time < sections_->begin() || time >= sections_->end()) {
      const bool before = time < sections_->begin();
      next.outside = true;
      next.from = timeline::tile_at(before ? sections_->begin() : sections_->end() - 1, root_level_);
      add(next, before ? bins_until(sections_->begin()) : grid.count);
      continue;
    }
    const std::size_t section = sections_->section_at(time);
    const unsigned wanted = grid.level + trace::tile_bins_log2;
    unsigned level = lowest_level_at(sections_->at(section), levels_);
    if (wanted < level) next.section = section;
    for (unsigned above = std::min(wanted, root_level_); above > level; --above)
      if (is_level(above)) level = above;
    next.from = timeline::tile_at(time, level);
    add(next, bins_until(next.section ? sections_->at(section).end : next.from.end()));
  }
  return items;
}

/// Returns the pieces of a grid, with the sources that are available in `sources`.
std::vector<stored_tiles::piece> stored_tiles::list_pieces(const bin_grid& grid, const drawn_owners& owners,
                                                           const bin_sources& sources, bin_detail& detail) const {
  std::vector<piece> items = cut(grid);
  std::vector<std::size_t> sections;
  for (const piece& each : items)
    if (each.section) sections.push_back(*each.section);
  std::vector<std::shared_ptr<const index::event_store>> indexes;
  if (sources.sections && !sections.empty()) indexes = sources.sections(sections);
  indexes.resize(sections.size());
  auto next = indexes.begin();
  for (piece& each : items) {
    if (each.section) each.instead = *next++;
    if (each.outside || each.instead) continue;
    if (each.section) detail = std::max(detail, bin_detail::of_tiles);
    const unsigned level = level_to_use(each.from.begin, each.from.level, owners, sources.reads_tiles);
    if (level != each.from.level) detail = bin_detail::of_kept_tiles;
    each.from = timeline::tile_at(each.from.begin, level);
  }
  return items;
}

/// Returns `curves` and the curves that their stacks count. The sum of these curves shows when a stack is highest.
stored_tiles::drawn_owners stored_tiles::with_stacks_of(std::span<const std::uint32_t> curves) const {
  drawn_owners owners{tile_content::curves, {curves.begin(), curves.end()}};
  std::vector<std::uint32_t> seen;
  for (const std::uint32_t curve : curves) {
    const std::uint32_t stack = stacks_->find_stack(curve);
    if (stack == index::curve_stacks::none || std::find(seen.begin(), seen.end(), stack) != seen.end()) continue;
    seen.push_back(stack);
    const std::vector<std::uint32_t>& counted = stacks_->counted()[stack];
    owners.numbers.insert(owners.numbers.end(), counted.begin(), counted.end());
  }
  std::sort(owners.numbers.begin(), owners.numbers.end());
  owners.numbers.erase(std::unique(owners.numbers.begin(), owners.numbers.end()), owners.numbers.end());
  return owners;
}

result<std::vector<std::vector<timeline::sampled_bin>>> stored_tiles::sample(std::span<const std::uint32_t> curves,
                                                                             const bin_grid& grid,
                                                                             const bin_sources& sources,
                                                                             bin_detail& detail) const {
  std::vector<std::vector<timeline::sampled_bin>> lists(curves.size());
  for (std::vector<timeline::sampled_bin>& bins : lists) bins.reserve(grid.count);
  const drawn_owners drawn = with_stacks_of(curves);
  note_drawn(drawn);
  const std::vector<piece> pieces = list_pieces(grid, drawn, sources, detail);
  const auto tiles = list_views(pieces, drawn);
  if (!tiles) return tl::unexpected<error>(tiles.error());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const piece& part = pieces[p];
    if (part.instead) {
      const time_range over{grid.begin + (static_cast<time_ns>(part.first) << grid.level),
                            grid.begin + (static_cast<time_ns>(part.first + part.count) << grid.level)};
      sample_section(*part.instead, over, part.count, curves, lists);
      continue;
    }
    const tile_view& rows = (*tiles)[p];
    for (std::size_t c = 0; c < curves.size(); ++c) {
      bin_walk walk(rows.curve(curves[c]));
      std::vector<timeline::sampled_bin>& to = lists[c];
      const time_ns begin = grid.begin + (static_cast<time_ns>(part.first) << grid.level);
      if (part.outside) {
        const double value = begin < part.from.begin ? 0 : walk.last();
        to.insert(to.end(), part.count, timeline::sampled_bin::constant(value));
        continue;
      }
      const unsigned level = part.from.bin_level();
      const time_ns offset = begin - part.from.begin;
      if (level == grid.level) {
        walk.take_each(static_cast<std::size_t>(offset >> level), part.count, to);
        continue;
      }
      // Either several bins of the tile make up one bin of the grid, or the reverse.
      const std::size_t several = grid.level > level ? std::size_t{1} << (grid.level - level) : 1;
      for (std::uint32_t i = 0; i < part.count; ++i) {
        const auto low = static_cast<std::size_t>((offset + (static_cast<time_ns>(i) << grid.level)) >> level);
        to.push_back(walk.take(low, std::min<std::size_t>(several, tile_bins - low)));
      }
    }
    if (!part.outside && grid.level > part.from.bin_level()) {
      const auto first = static_cast<std::size_t>(
          (grid.begin + (static_cast<time_ns>(part.first) << grid.level) - part.from.begin) >> part.from.bin_level());
      put_peaks(rows, first, std::size_t{1} << (grid.level - part.from.bin_level()), part.count, curves, lists);
    }
  }
  return lists;
}

/// Appends `count` bins over `over` to the bins of each of `curves`, from the event store of a section.
void stored_tiles::sample_section(const index::event_store& store, time_range over, std::uint32_t count,
                                  std::span<const std::uint32_t> curves,
                                  std::vector<std::vector<timeline::sampled_bin>>& lists) const {
  const auto facts = store.tensors(*trace_);
  const std::vector<index::index_curve> listed = index::make_curves(store, facts.get(), over);
  std::vector<trace::curve_row> rows;
  for (const index::index_curve& each : listed) rows.push_back(each.about);
  std::vector<std::uint32_t> wanted;
  std::vector<std::size_t> owners;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const trace::curve_row& each) {
      return index::same_curve(each, curves_[curves[c]]);
    });
    if (found == rows.end()) {
      lists[c].resize(lists[c].size() + count);
      continue;
    }
    wanted.push_back(found->curve);
    owners.push_back(c);
  }
  const auto bins = index::sample_curves(listed, index::curve_stacks(rows, trace_->tables()), wanted, over, count);
  for (std::size_t i = 0; i < owners.size(); ++i)
    lists[owners[i]].insert(lists[owners[i]].end(), bins[i].begin(), bins[i].end());
}

/// Sets `at_peak` of the last `count` bins of `curves`. Each of these bins consists of `several` bins of a tile,
/// starting at the tile's bin `first`.
void stored_tiles::put_peaks(const tile_view& rows, std::size_t first, std::size_t several, std::size_t count,
                             std::span<const std::uint32_t> curves,
                             std::vector<std::vector<timeline::sampled_bin>>& lists) const {
  const std::size_t behind = std::min<std::size_t>(first + several * count, tile_bins);
  std::vector<timeline::sampled_bin> bins;
  const auto get_bins = [&](std::uint32_t curve) -> const std::vector<timeline::sampled_bin>& {
    bins.clear();
    bin_walk(rows.curve(curve)).take_each(first, behind - first, bins);
    return bins;
  };
  // For each stack and bin, the position of the stack's peak.
  std::vector<std::vector<std::size_t>> chosen(stacks_->size());
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::uint32_t stack = stacks_->find_stack(curves[c]);
    if (stack == index::curve_stacks::none) continue;
    if (chosen[stack].empty()) {
      std::vector<double> sums(behind - first);
      for (const std::uint32_t counted : stacks_->counted()[stack]) {
        const std::vector<timeline::sampled_bin>& of_curve = get_bins(counted);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_curve[i].at_peak;
      }
      for (std::size_t i = 0; i < sums.size(); i += several) {
        const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(i);
        const auto end = sums.begin() + static_cast<std::ptrdiff_t>(std::min(i + several, sums.size()));
        chosen[stack].push_back(static_cast<std::size_t>(std::max_element(begin, end) - sums.begin()));
      }
    }
    const std::vector<timeline::sampled_bin>& of_curve = get_bins(curves[c]);
    const std::size_t last = lists[c].size() - count;
    for (std::size_t i = 0; i < chosen[stack].size() && i < count; ++i)
      lists[c][last + i].at_peak = of_curve[chosen[stack][i]].at_peak;
  }
}

result<void> stored_tiles::draw(std::uint32_t first, const bin_grid& grid, const bin_sources& sources,
                                bin_detail& detail, std::vector<timeline::drawn_slice>& into) const {
  std::uint32_t behind = first;
  drawn_owners owners{tile_content::lanes, {}};
  for (; behind < lanes_.size() && index::same_owner(lanes_[behind], lanes_[first]); ++behind)
    owners.numbers.push_back(lanes_[behind].lane);
  std::sort(owners.numbers.begin(), owners.numbers.end());
  note_drawn(owners);
  std::vector<piece> pieces = list_pieces(grid, owners, sources, detail);
  std::erase_if(pieces, [](const piece& each) { return each.outside; });
  const auto tiles = list_views(pieces, owners);
  if (!tiles) return tl::unexpected<error>(tiles.error());
  const auto get_range = [&](const piece& part) {
    return time_range{grid.begin + (static_cast<time_ns>(part.first) << grid.level),
                      grid.begin + (static_cast<time_ns>(part.first + part.count) << grid.level)};
  };
  // The slices of all lanes from event stores, upper lanes first.
  std::vector<std::vector<timeline::drawn_slice>> of_indexes(pieces.size());
  std::size_t lanes = behind - first;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    if (!pieces[p].instead) continue;
    const time_range over = get_range(pieces[p]);
    const auto facts = lanes_[first].type == trace::lane_kind::steps ? pieces[p].instead->tensors(*trace_) : nullptr;
    for (const index::index_slices& owner : index::get_slices(*pieces[p].instead, facts.get()))
      if (index::same_owner(owner.about, lanes_[first]))
        owner.slices->draw(over.begin, over.end, pieces[p].count, of_indexes[p]);
    if (!of_indexes[p].empty()) lanes = std::max<std::size_t>(lanes, of_indexes[p].back().lane + std::size_t{1});
  }
  into.clear();
  std::vector<std::size_t> next(pieces.size());
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::size_t lane = into.size();
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const piece& part = pieces[p];
      if (part.instead) {
        const std::vector<timeline::drawn_slice>& drawn = of_indexes[p];
        for (; next[p] < drawn.size() && drawn[next[p]].lane <= l; ++next[p]) {
          into.push_back(drawn[next[p]]);
          join_last(lane, into);
        }
        continue;
      }
      if (l >= behind - first) continue;
      const time_range over = get_range(part);
      const std::uint32_t lane_number = lanes_[first + l].lane;
      const tile_rows* const rows = (*tiles)[p].of(lane_number);
      if (rows == nullptr) continue;
      const stored_bins<drawn_bin> stored = rows->lane(lane_number);
      // Merge the bins of the tile that are in the same bin of the grid.
      const unsigned level = part.from.bin_level();
      const unsigned several = grid.level > level ? grid.level - level : 0;
      const auto get_begin = [&](time_ns place) { return part.from.begin + (place << level); };
      const auto first_here =
          std::partition_point(stored.places.begin(), stored.places.end(),
                               [&](std::uint16_t place) { return get_begin(place + 1) <= over.begin; });
      for (auto i = static_cast<std::size_t>(first_here - stored.places.begin()); i < stored.size();) {
        const std::uint16_t place = stored.places[i];
        if (get_begin(place) >= over.end) break;
        const std::size_t one = i;
        for (++i; i < stored.size() && stored.places[i] >> several == place >> several;) ++i;
        const time_range over_bin{get_begin(place), get_begin(stored.places[i - 1] + 1)};
        fill(into.emplace_back(), i == one + 1 ? stored.bins[one] : rows->joined(lane_number, one, i), over_bin, l);
        join_last(lane, into);
      }
    }
  }
  for (timeline::drawn_slice& slice : into) slice.count = std::max(slice.count, 1U);
  return {};
}

}  // namespace sluice::summary
