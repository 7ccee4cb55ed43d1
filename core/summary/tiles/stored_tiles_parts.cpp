// Finds the chunks that contain the parts of tiles, and keeps parts in memory.
#include <algorithm>
#include <chrono>

#include "core/summary/tiles/stored_tiles.hpp"

namespace sluice::summary {
namespace {

using timeline::tile;
using trace::row_type;
using trace::tile_bins;

/// A tile with at most this many parts is read ahead completely. A tile of one process has two parts: curves and lanes.
constexpr std::size_t few_parts = 4;
/// Curves and lanes that were drawn longer ago than this are not read ahead.
constexpr std::chrono::nanoseconds recently = std::chrono::seconds(3);

std::int64_t steady_now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::vector<trace::chunk_info> stored_tiles::get_chunks(const tile& which, tile_content content) const {
  std::vector<trace::chunk_info> chunks = trace_->summaries_to_search().of_tile(which.begin, which.end() - 1);
  std::erase_if(chunks, [&](const trace::chunk_info& each) {
    return (each.type == row_type::lane_bin) != (content == tile_content::lanes);
  });
  std::stable_sort(chunks.begin(), chunks.end(), [](const trace::chunk_info& a, const trace::chunk_info& b) {
    return a.lowest_event < b.lowest_event;
  });
  return chunks;
}

std::vector<stored_tiles::part_key> stored_tiles::parts_in(const tile& which, tile_content content) const {
  const std::vector<trace::chunk_info> chunks = get_chunks(which, content);
  if (chunks.empty()) return {};
  const auto owners = static_cast<std::uint32_t>(content == tile_content::lanes ? lanes_.size() : curves_.size());
  const bool reported =
      std::any_of(chunks.begin(), chunks.end(), [](const auto& each) { return each.highest_event != 0; }) &&
      std::all_of(chunks.begin(), chunks.end(), [&](const auto& each) {
        return each.lowest_event <= each.highest_event && each.highest_event < owners;
      });
  if (!reported) return {{which, content, {0, owners}}};
  std::vector<part_key> parts;
  for (const trace::chunk_info& each : chunks) {
    const owner_range range{static_cast<std::uint32_t>(each.lowest_event),
                            static_cast<std::uint32_t>(each.highest_event + 1)};
    if (!parts.empty() && range.first < parts.back().owners.behind) {
      parts.back().owners.behind = std::max(parts.back().owners.behind, range.behind);
    } else {
      parts.push_back({which, content, range});
    }
  }
  return parts;
}

stored_tiles::kept_tiles::made stored_tiles::read(const part_key& part) const {
  std::vector<trace::chunk_info> chunks = get_chunks(part.which, part.content);
  const std::size_t owners = part.content == tile_content::lanes ? lanes_.size() : curves_.size();
  std::size_t rows = 0;
  for (const trace::chunk_info& chunk : chunks) rows += chunk.rows;
  // A few bytes of a corrupt file could claim very many owners.
  if (rows > owners * tile_bins) return fail(error_code::corrupt, "a tile has more rows than its bins", trace_->path());
  if (part.owners != owner_range{0, static_cast<std::uint32_t>(owners)})
    std::erase_if(chunks, [&](const trace::chunk_info& each) {
      return each.lowest_event < part.owners.first || each.lowest_event >= part.owners.behind;
    });
  const tile which = part.which;
  // A view with wider bins uses the tile above if there is such a tile.
  const bool joins = which.level >= root_level_ || !is_level(which.level + 1);
  return tile_rows::read(*trace_, chunks, which, part.content, part.owners, joins);
}

const tile_rows* stored_tiles::tile_view::of(std::uint32_t number) const {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [=](const auto& each) { return each->owners().holds(number); });
  return found == parts.end() ? nullptr : found->get();
}

stored_bins<curve_bin> stored_tiles::tile_view::curve(std::uint32_t number) const {
  const tile_rows* rows = of(number);
  return rows == nullptr ? stored_bins<curve_bin>{} : rows->curve(number);
}

std::vector<stored_tiles::part_key> stored_tiles::get_parts(const tile& which, const drawn_owners& owners) const {
  std::vector<part_key> parts = parts_in(which, owners.content);
  std::erase_if(parts, [&](const part_key& part) {
    const auto first = std::lower_bound(owners.numbers.begin(), owners.numbers.end(), part.owners.first);
    return first == owners.numbers.end() || *first >= part.owners.behind;
  });
  return parts;
}

std::vector<stored_tiles::part_key> stored_tiles::parts_to_prepare(const tile& which) const {
  std::vector<part_key> keys = parts_in(which, tile_content::curves);
  const std::vector<part_key> lanes = parts_in(which, tile_content::lanes);
  keys.insert(keys.end(), lanes.begin(), lanes.end());
  if (keys.size() <= few_parts) return keys;
  const std::int64_t since = steady_now() - recently.count();
  std::erase_if(keys, [&](const part_key& part) {
    const drawn_times& times = part.content == tile_content::lanes ? lanes_drawn_ : curves_drawn_;
    const auto owned = std::span(times).subspan(part.owners.first, part.owners.count());
    return std::none_of(owned.begin(), owned.end(),
                        [&](const auto& time) { return time.load(std::memory_order_relaxed) > since; });
  });
  return keys;
}

void stored_tiles::note_drawn(const drawn_owners& owners) const {
  drawn_times& times = owners.content == tile_content::lanes ? lanes_drawn_ : curves_drawn_;
  const std::int64_t now = steady_now();
  for (const std::uint32_t number : owners.numbers) times[number].store(now, std::memory_order_relaxed);
}

result<std::vector<stored_tiles::tile_view>> stored_tiles::list_views(std::span<const piece> pieces,
                                                                      const drawn_owners& owners) const {
  std::vector<part_key> wanted;
  std::vector<std::size_t> counts;
  for (const piece& each : pieces) {
    const std::vector<part_key> parts = each.instead ? std::vector<part_key>{} : get_parts(each.from, owners);
    wanted.insert(wanted.end(), parts.begin(), parts.end());
    counts.push_back(parts.size());
  }
  auto read_parts = kept_.get_each(wanted);
  std::vector<tile_view> views(pieces.size());
  auto next = read_parts.begin();
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (std::size_t i = 0; i < counts[p]; ++i, ++next) {
      if (!*next) return tl::unexpected<error>(next->error());
      views[p].parts.push_back(std::move(**next));
    }
  }
  return views;
}

bool stored_tiles::at_hand(const tile& which) const {
  const std::vector<part_key> parts = parts_to_prepare(which);
  return std::all_of(parts.begin(), parts.end(), [&](const part_key& each) { return kept_.at_hand(each) != nullptr; });
}

bool stored_tiles::prepare(const tile& which) const {
  bool read_any = false;
  for (const part_key& each : parts_to_prepare(which))
    read_any |= kept_.make_ahead(each, [this](const part_key& one) { return read(one); });
  return read_any;
}

void stored_tiles::take_over(const stored_tiles& before) const {
  // Owners with a number in a settled tile keep that number, but there may be new owners.
  const auto copy = [](const drawn_times& times, drawn_times& to) {
    for (std::size_t i = 0; i < std::min(times.size(), to.size()); ++i)
      to[i].store(times[i].load(std::memory_order_relaxed));
  };
  copy(before.curves_drawn_, curves_drawn_);
  copy(before.lanes_drawn_, lanes_drawn_);
  const auto same = [](const trace::chunk_info& a, const trace::chunk_info& b) { return a.offset == b.offset; };
  for (auto& [part, rows] : before.kept_.all_kept()) {
    const auto there = before.get_chunks(part.which, part.content), here = get_chunks(part.which, part.content);
    const bool settled = trace_->are_settled(here);
    if (settled && std::equal(here.begin(), here.end(), there.begin(), there.end(), same)) {
      kept_.put(part, std::move(rows));
    } else if (!here.empty()) {
      prepare(part.which);
    }
  }
}

}  // namespace sluice::summary
