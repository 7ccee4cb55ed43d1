#include "app/gui/views/memory_map/memory_map_layout.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice::gui {
namespace {

std::int64_t get_lines(std::uint64_t bytes, std::uint64_t bytes_per_line) {
  return bytes == 0 ? 1 : static_cast<std::int64_t>((bytes - 1) / bytes_per_line + 1);
}

std::int64_t get_lines(const query::memory_map& map, std::uint64_t bytes_per_line) {
  auto lines = static_cast<std::int64_t>(map.groups.size());
  for (const query::address_segment& each : map.segments) lines += get_lines(each.bytes, bytes_per_line);
  return lines;
}

/// The next shorter line length. Line lengths are powers of two, and 1.5 times powers of two, so that maps zoom in
/// small steps.
std::uint64_t shorter(std::uint64_t line) { return std::has_single_bit(line) ? line / 4 * 3 : line / 3 * 2; }

std::uint64_t free_in(const query::address_segment& segment) { return segment.bytes - segment.used; }

}  // namespace

void map_layout::assign(const query::memory_map& map, std::uint64_t bytes_per_line, map_order order,
                        const std::set<map_group_key>& folded) {
  bytes_per_line_ = bytes_per_line;
  rows_.clear();
  std::vector<std::size_t> sorted(map.segments.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  // Within equal keys, keep the order of the query's result, which is sorted by group and address.
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
    const query::address_segment& one = map.segments[a];
    const query::address_segment& other = map.segments[b];
    if (one.group != other.group) return one.group < other.group;
    if (order == map_order::size) return one.bytes > other.bytes;
    return order == map_order::free && free_in(one) > free_in(other);
  });
  row_of_.assign(map.segments.size(), SIZE_MAX);
  std::int64_t line = 0;
  auto next = sorted.begin();
  for (std::size_t group = 0; group < map.groups.size(); ++group) {
    rows_.push_back({true, group, line++, 1});
    const bool shown = !folded.contains(get_key(map.groups[group]));
    for (; next != sorted.end() && map.segments[*next].group == group; ++next) {
      if (!shown) continue;
      row_of_[*next] = rows_.size();
      rows_.push_back({false, *next, line, get_lines(map.segments[*next].bytes, bytes_per_line)});
      line += rows_.back().lines;
    }
  }
}

std::int64_t map_layout::lines() const { return rows_.empty() ? 0 : rows_.back().first + rows_.back().lines; }

const map_row* map_layout::row_at(std::int64_t line) const {
  if (line < 0 || line >= lines()) return nullptr;
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), line,
                                      [](std::int64_t wanted, const map_row& row) { return wanted < row.first; });
  return &*std::prev(after);
}

map_piece map_layout::piece(const map_row& row, std::int64_t line, std::uint64_t bytes) const {
  const std::uint64_t begin = static_cast<std::uint64_t>(line - row.first) * bytes_per_line_;
  if (begin >= bytes) return {bytes, bytes};
  return {begin, begin + std::min(bytes_per_line_, bytes - begin)};
}

std::optional<std::int64_t> map_layout::get_line(std::size_t segment, std::uint64_t offset) const {
  if (segment >= row_of_.size() || row_of_[segment] >= rows_.size()) return std::nullopt;
  const map_row& row = rows_[row_of_[segment]];
  return row.first + std::min(static_cast<std::int64_t>(offset / bytes_per_line_), row.lines - 1);
}

std::uint64_t fitting_line(const query::memory_map& map, std::int64_t fits) {
  const auto rows = static_cast<std::int64_t>(map.segments.size() + map.groups.size());
  std::uint64_t line = longest_line(map);
  if (map.segments.empty()) return line;
  const bool all_fit = rows + rows / 2 <= fits;
  const std::int64_t most = all_fit ? fits : rows * 4;
  std::uint64_t least = shortest_line;
  if (!all_fit) {
    std::vector<std::uint64_t> sizes;
    for (const query::address_segment& each : map.segments) sizes.push_back(each.bytes);
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    least = std::max(least, std::bit_ceil(std::min(*middle, line / 2)) * 4);
  }
  while (shorter(line) >= least && get_lines(map, shorter(line)) <= most) line = shorter(line);
  return line;
}

std::uint64_t longest_line(const query::memory_map& map) {
  std::uint64_t longest = shortest_line;
  for (const query::address_segment& each : map.segments) longest = std::max(longest, each.bytes);
  const std::uint64_t power = std::bit_ceil(std::min(longest, std::uint64_t{1} << 62));
  return power > shortest_line && shorter(power) >= longest ? shorter(power) : power;
}

std::size_t item_at(const query::address_segment& segment, std::uint64_t address) {
  const auto found = std::upper_bound(
      segment.items.begin(), segment.items.end(), address,
      [](std::uint64_t wanted, const query::address_item& item) { return wanted < item.address + item.bytes; });
  return static_cast<std::size_t>(found - segment.items.begin());
}

}  // namespace sluice::gui
