#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/query/answers/memory_map.hpp"

/// Layout of memory segments on the screen: in lines of equal numbers of bytes, like text in lines of characters.
namespace sluice::gui {

enum class map_order : std::uint8_t { address, size, free };

/// Identifies a group of segments, independently of the moment.
using map_group_key = std::tuple<trace::device_id, trace::process_id, bool, trace::layer>;
[[nodiscard]] inline map_group_key key_of(const query::address_group& group) {
  return {group.device, group.process, group.lone, group.layer};
}

/// One row: a heading, or a segment with all its lines.
struct map_row {
  bool heading = false;
  std::size_t at = 0;      ///< Index into `memory_map::groups` or `memory_map::segments`.
  std::int64_t first = 0;  ///< Number of its first line.
  std::int64_t lines = 1;
};

/// A range [begin, end) of a segment, as offsets from its first address.
struct map_piece {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class map_layout {
 public:
  /// Lays out `map` in lines of `bytes_per_line` (not 0); groups in `folded` as a heading only. O(n log n), n segments.
  void assign(const query::memory_map& map, std::uint64_t bytes_per_line, map_order order,
              const std::set<map_group_key>& folded);

  [[nodiscard]] std::int64_t lines() const;
  [[nodiscard]] std::uint64_t bytes_per_line() const { return bytes_per_line_; }
  [[nodiscard]] std::span<const map_row> rows() const { return rows_; }
  /// The row that contains `line`; null past the end. O(log rows).
  [[nodiscard]] const map_row* row_at(std::int64_t line) const;
  /// The part of a segment of size `bytes` that is on `line` of its `row`.
  [[nodiscard]] map_piece piece(const map_row& row, std::int64_t line, std::uint64_t bytes) const;
  /// The line of `offset` in the segment at this index of `memory_map::segments`; nullopt if its group is folded. O(1).
  [[nodiscard]] std::optional<std::int64_t> line_of(std::size_t segment, std::uint64_t offset) const;

 private:
  std::vector<map_row> rows_;
  std::vector<std::size_t> row_of_;  ///< By segment; past the end of `rows_` if folded.
  std::uint64_t bytes_per_line_ = 1;
};

/// The minimum length of a line, in bytes: the smallest pool blocks (512 bytes) are then visible.
inline constexpr std::uint64_t shortest_line = std::uint64_t{16} << 10;

/// The shortest line length (2^n or 1.5 * 2^n bytes) with which `map` fits into `fits` lines. If there are too many
/// segments, a length with which half of them take at most a quarter of a line, and large ones few lines.
[[nodiscard]] std::uint64_t fitting_line(const query::memory_map& map, std::int64_t fits);
/// The shortest line length (2^n or 1.5 * 2^n bytes) with which every segment of `map` fits in one line.
[[nodiscard]] std::uint64_t longest_line(const query::memory_map& map);

/// Index of the item that contains `address`; else of the next item; `items.size()` after the last. O(log items).
[[nodiscard]] std::size_t item_at(const query::address_segment& segment, std::uint64_t address);

}  // namespace sluice::gui
