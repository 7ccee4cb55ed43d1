#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/query/types/memory_map.hpp"

/// The layout of memory segments on the screen: in lines that each contain the same number of bytes, like text in lines
/// of characters.
namespace sluice::gui {

enum class map_order : std::uint8_t { address, size, free };

/// Identifies a group of segments at any moment.
using map_group_key = std::tuple<trace::device_id, trace::process_id, bool, trace::layer>;
[[nodiscard]] inline map_group_key get_key(const query::address_group& group) {
  return {group.device, group.process, group.lone, group.layer};
}

/// A heading, or a segment with all its lines. Short segments share a line, side by side.
struct map_row {
  bool heading = false;
  std::size_t at = 0;      ///< Index into `memory_map::groups` or `memory_map::segments`.
  std::int64_t first = 0;  ///< Number of the row's first line in the layout.
  std::int64_t lines = 1;
  std::uint64_t indent = 0;  ///< Bytes from the left edge of the line to the segment, if it shares the line.
};

/// A range [begin, end) of a segment, as offsets from its first address.
struct map_piece {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class map_layout {
 public:
  /// Lays out `map` in lines of `bytes_per_line` bytes (not 0). Segments that are neighbors in the order share a line if
  /// they fit, each on at least 1/16 of the line. For groups in `folded`, adds only the heading. O(n log n) for n
  /// segments.
  void assign(const query::memory_map& map, std::uint64_t bytes_per_line, map_order order,
              const std::set<map_group_key>& folded);

  [[nodiscard]] std::int64_t lines() const;
  [[nodiscard]] std::uint64_t bytes_per_line() const { return bytes_per_line_; }
  [[nodiscard]] std::span<const map_row> rows() const { return rows_; }
  /// The row that contains the line number `line`, or the first of those that share it; null past the end. O(log rows).
  [[nodiscard]] const map_row* row_at(std::int64_t line) const;
  /// The rows that contain the line number `line`, from left to right; empty past the end. O(log rows).
  [[nodiscard]] std::span<const map_row> rows_at(std::int64_t line) const;
  /// The row of the segment with this index in `memory_map::segments`; null if the segment's group is folded. O(1).
  [[nodiscard]] const map_row* row_of(std::size_t segment) const;
  /// The part of a segment of `bytes` bytes that is on line `line`, which must be in the segment's `row`.
  [[nodiscard]] map_piece piece(const map_row& row, std::int64_t line, std::uint64_t bytes) const;
  /// The line that contains `offset` of the segment with this index in `memory_map::segments`; nullopt if the segment's
  /// group is folded. O(1).
  [[nodiscard]] std::optional<std::int64_t> get_line(std::size_t segment, std::uint64_t offset) const;

 private:
  std::vector<map_row> rows_;
  std::vector<std::size_t> row_of_;  ///< Index into `rows_` for each segment; past the end of `rows_` if the segment's
                                     ///< group is folded.
  std::uint64_t bytes_per_line_ = 1;
};

/// The minimum number of bytes per line. At this length the smallest pool blocks (512 bytes) are visible.
inline constexpr std::uint64_t shortest_line = std::uint64_t{16} << 10;

/// The smallest number of bytes per line (2^n or 1.5 * 2^n) with which `map` fits into `fits` lines. If there are too
/// many segments for that, the smallest with which the largest segment fits, and all segments take few lines.
[[nodiscard]] std::uint64_t fitting_line(const query::memory_map& map, std::int64_t fits);
/// The smallest number of bytes per line (2^n or 1.5 * 2^n) with which every segment of `map` fits into one line.
[[nodiscard]] std::uint64_t longest_line(const query::memory_map& map);

/// Index of the item that contains `address`; if there is none, of the next item; `items.size()` after the last item.
/// O(log items).
[[nodiscard]] std::size_t item_at(const query::address_segment& segment, std::uint64_t address);

}  // namespace sluice::gui
