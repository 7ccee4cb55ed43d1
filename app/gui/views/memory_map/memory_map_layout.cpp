#include "app/gui/views/memory_map/memory_map_layout.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice::gui {
namespace {

std::int64_t get_lines(std::uint64_t bytes, std::uint64_t bytes_per_line) {
  return bytes == 0 ? 1 : static_cast<std::int64_t>((bytes - 1) / bytes_per_line + 1);
}

/// Places segments on lines, one after another.
class line_filler {
 public:
  explicit line_filler(std::uint64_t bytes_per_line) : bytes_per_line_(bytes_per_line) {}

  /// Starts a new line for a heading, and returns its number.
  std::int64_t add_heading() {
    shared_ = 0;
    return next_++;
  }
  /// Sets the place of a segment of `bytes` bytes.
  void place(std::uint64_t bytes, map_row& row) {
    row.lines = get_lines(bytes, bytes_per_line_);
    // A segment that is too narrow to be seen would not be found among its neighbors.
    const std::uint64_t wide = std::max({bytes, bytes_per_line_ / 16, std::uint64_t{1}});
    const bool shares = row.lines == 1 && shared_ != 0 && wide <= bytes_per_line_ - shared_;
    row.indent = shares ? shared_ : 0;
    row.first = shares ? next_ - 1 : next_;
    next_ = row.first + row.lines;
    shared_ = row.lines == 1 ? row.indent + wide : 0;
  }
  [[nodiscard]] std::int64_t lines() const { return next_; }

 private:
  std::uint64_t bytes_per_line_;
  std::int64_t next_ = 0;
  std::uint64_t shared_ = 0;  ///< Bytes of the last line that are taken, if others may share it; else 0.
};

std::int64_t get_lines(const query::memory_map& map, std::uint64_t bytes_per_line) {
  line_filler filler(bytes_per_line);
  std::size_t group = SIZE_MAX;
  std::size_t groups = 0;
  map_row row;
  for (const query::address_segment& each : map.segments) {  // sorted by group and address
    if (each.group != group) filler.add_heading(), ++groups;
    group = each.group;
    filler.place(each.bytes, row);
  }
  return filler.lines() + static_cast<std::int64_t>(map.groups.size() - std::min(groups, map.groups.size()));
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
  line_filler filler(bytes_per_line);
  auto next = sorted.begin();
  for (std::size_t group = 0; group < map.groups.size(); ++group) {
    rows_.push_back({true, group, filler.add_heading(), 1});
    const bool shown = !folded.contains(get_key(map.groups[group]));
    for (; next != sorted.end() && map.segments[*next].group == group; ++next) {
      if (!shown) continue;
      row_of_[*next] = rows_.size();
      filler.place(map.segments[*next].bytes, rows_.emplace_back(map_row{false, *next}));
    }
  }
}

std::int64_t map_layout::lines() const { return rows_.empty() ? 0 : rows_.back().first + rows_.back().lines; }

const map_row* map_layout::row_at(std::int64_t line) const {
  const auto rows = rows_at(line);
  return rows.empty() ? nullptr : &rows.front();
}

std::span<const map_row> map_layout::rows_at(std::int64_t line) const {
  if (line < 0 || line >= lines()) return {};
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), line,
                                      [](std::int64_t wanted, const map_row& row) { return wanted < row.first; });
  // Rows that share a line start there.
  const auto first = std::lower_bound(rows_.begin(), after, std::prev(after)->first,
                                      [](const map_row& row, std::int64_t wanted) { return row.first < wanted; });
  return {first, after};
}

const map_row* map_layout::row_of(std::size_t segment) const {
  if (segment >= row_of_.size() || row_of_[segment] >= rows_.size()) return nullptr;
  return &rows_[row_of_[segment]];
}

map_piece map_layout::piece(const map_row& row, std::int64_t line, std::uint64_t bytes) const {
  const std::uint64_t begin = static_cast<std::uint64_t>(line - row.first) * bytes_per_line_;
  if (begin >= bytes) return {bytes, bytes};
  return {begin, begin + std::min(bytes_per_line_, bytes - begin)};
}

std::optional<std::int64_t> map_layout::get_line(std::size_t segment, std::uint64_t offset) const {
  const map_row* row = row_of(segment);
  if (row == nullptr) return std::nullopt;
  return row->first + std::min(static_cast<std::int64_t>(offset / bytes_per_line_), row->lines - 1);
}

std::uint64_t fitting_line(const query::memory_map& map, std::int64_t fits) {
  std::uint64_t line = longest_line(map);
  if (map.segments.empty()) return line;
  std::uint64_t largest = 0;
  for (const query::address_segment& each : map.segments) largest = std::max(largest, each.bytes);
  const std::int64_t least_lines = get_lines(map, line);
  const bool all_fit = least_lines <= fits;
  const auto is_short_enough = [&](std::uint64_t length) {
    if (all_fit) return get_lines(map, length) <= fits;
    return get_lines(largest, length) < fits && get_lines(map, length) <= least_lines * 2;
  };
  while (shorter(line) >= shortest_line && is_short_enough(shorter(line))) line = shorter(line);
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
