#include "app/gui/views/memory_over_time/block_shapes.hpp"

#include <algorithm>

namespace sluice::gui {
namespace {

struct change {
  time_ns time = 0;
  bool birth = false;
  std::uint32_t block = 0;
};

/// A live block, and the piece with which it is currently drawn.
struct placed {
  std::uint32_t block = 0;
  std::uint64_t offset = 0;
  time_ns since = 0;
};

/// The maximum of live bytes in each of the range's `columns` parts. Includes the bytes before the first change in the
/// part.
std::vector<std::uint64_t> max_in_columns(const std::vector<change>& changes, const std::vector<shaped_block>& blocks,
                                          std::size_t columns, auto&& find_column) {
  std::vector<std::uint64_t> most(columns + 1);
  std::uint64_t live = 0;
  for (const change& each : changes) {
    std::uint64_t& here = most[std::min(find_column(each.time), columns)];
    here = std::max(here, live);
    live += each.birth ? blocks[each.block].bytes : std::uint64_t{0} - blocks[each.block].bytes;
    here = std::max(here, live);
  }
  return most;
}

}  // namespace

block_shapes lay_out(std::vector<shaped_block> blocks, time_range range, std::size_t columns) {
  block_shapes shapes;
  shapes.range = range;
  shapes.blocks = std::move(blocks);
  std::vector<change> changes;
  for (std::uint32_t i = 0; i < shapes.blocks.size(); ++i) {
    const shaped_block& each = shapes.blocks[i];
    changes.push_back({std::max(each.born, range.begin), true, i});
    if (each.died < range.end) changes.push_back({std::max(each.died, range.begin), false, i});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const change& a, const change& b) { return a.time < b.time; });
  const auto find_column = [&](time_ns time) {
    return static_cast<std::size_t>(static_cast<double>(time - range.begin) /
                                    static_cast<double>(std::max<time_ns>(range.length(), 1)) *
                                    static_cast<double>(columns));
  };
  std::vector<placed> live;
  const auto close = [&](const placed& each, time_ns until) {
    if (until > each.since) shapes.pieces.push_back({each.block, each.since, until, each.offset});
  };
  const std::vector<std::uint64_t> most = max_in_columns(changes, shapes.blocks, columns, find_column);
  std::uint64_t sum = 0;
  std::uint64_t freed = 0;
  std::vector<bool> gone(shapes.blocks.size());
  const auto move_down = [&](time_ns moved) {
    if (freed == 0) return;
    std::uint64_t below = 0;
    std::size_t kept = 0;
    for (placed& each : live) {
      const std::uint64_t bytes = shapes.blocks[each.block].bytes;
      if (gone[each.block]) {
        close(each, shapes.blocks[each.block].died);
        below += bytes;
        continue;
      }
      if (below > 0) {
        close(each, moved);
        each.offset -= below;
        each.since = std::max(each.since, moved);
      }
      live[kept++] = each;
    }
    live.resize(kept);
    sum -= freed;
    freed = 0;
  };
  for (std::size_t i = 0; i < changes.size() && !shapes.too_many;) {
    const std::size_t column = find_column(changes[i].time);
    // In each column, blocks are added one after another and then all frees are applied together. Frees are applied
    // earlier only if the pile of blocks would otherwise become higher than it ever was in this column.
    for (; i < changes.size() && find_column(changes[i].time) == column; ++i) {
      const std::uint32_t block = changes[i].block;
      if (changes[i].birth) {
        if (sum + shapes.blocks[block].bytes > most[std::min(column, columns)]) move_down(changes[i].time);
        live.push_back({block, sum, changes[i].time});
        sum += shapes.blocks[block].bytes;
        shapes.highest = std::max(shapes.highest, sum);
        continue;
      }
      gone[block] = true;
      freed += shapes.blocks[block].bytes;
    }
    move_down(changes[i - 1].time);
    shapes.too_many = shapes.pieces.size() > block_shapes::piece_limit;
  }
  for (const placed& each : live) close(each, range.end);
  if (shapes.too_many) shapes.pieces.clear();
  return shapes;
}

chart_series make_shape_series(const block_shapes& shapes) {
  chart_series series;
  series.look = series_look::boxes;
  series.parted = true;
  series.points.reserve(shapes.pieces.size());
  for (const shape_piece& piece : shapes.pieces) {
    const shaped_block& block = shapes.blocks[piece.block];
    const auto low = static_cast<double>(piece.offset);
    series.points.push_back({.begin = static_cast<double>(piece.begin - shapes.range.begin),
                             .end = static_cast<double>(piece.end - shapes.range.begin),
                             .low = low,
                             .high = low + static_cast<double>(block.bytes),
                             .colour = block.colour,
                             .item = piece.block,
                             .ends = piece.end == block.died});
  }
  return series;
}

}  // namespace sluice::gui
