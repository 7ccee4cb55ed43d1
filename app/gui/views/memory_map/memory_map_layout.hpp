#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/query/answers/memory_map.hpp"

/// Where segments of memory stand on the screen: in lines of equal numbers of bytes, as a text stands in lines of characters.
namespace sluice::gui {

enum class map_order : std::uint8_t { address, size, free };

/// What tells a group of segments from others, whatever the moment.
using map_group_key = std::tuple<trace::device_id, trace::process_id, bool, trace::layer>;
[[nodiscard]] inline map_group_key key_of(const query::address_group& group) {
  return {group.device, group.process, group.lone, group.layer};
}

/// A heading, or a segment in its lines.
struct map_row {
  bool heading = false;
  std::size_t at = 0;      ///< In `memory_map::groups` or `memory_map::segments`.
  std::int64_t first = 0;  ///< The number of its first line.
  std::int64_t lines = 1;
};

/// Addresses of a segment, [begin, end), as counted from its first.
struct map_piece {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class map_layout {
 public:
  /// Lines of `bytes_per_line`, which is not 0; of groups in `folded` only the heading. O(segments * log segments).
  void assign(const query::memory_map& map, std::uint64_t bytes_per_line, map_order order,
              const std::set<map_group_key>& folded);

  [[nodiscard]] std::int64_t lines() const;
  [[nodiscard]] std::uint64_t bytes_per_line() const { return bytes_per_line_; }
  [[nodiscard]] std::span<const map_row> rows() const { return rows_; }
  /// The row that `line` belongs to; null past the end. O(log rows).
  [[nodiscard]] const map_row* row_at(std::int64_t line) const;
  /// What of the segment, which has `bytes`, is on `line` of its `row`.
  [[nodiscard]] map_piece piece(const map_row& row, std::int64_t line, std::uint64_t bytes) const;
  /// The line of `offset` in the segment at this place of `memory_map::segments`; nullopt if its group is folded. O(1).
  [[nodiscard]] std::optional<std::int64_t> line_of(std::size_t segment, std::uint64_t offset) const;

 private:
  std::vector<map_row> rows_;
  std::vector<std::size_t> row_of_;  ///< By segment; past the end of `rows_` if folded.
  std::uint64_t bytes_per_line_ = 1;
};

/// No line is shorter: 512 bytes, the smallest block that pools give out, are wider than a hair then.
inline constexpr std::uint64_t shortest_line = std::uint64_t{16} << 10;

/// The shortest line, a power of two or one and a half of it, that shows all of `map` in `fits` lines. Where segments are too many for that, so that one scrolls
/// through them anyway, one of which half of the segments take a quarter at most, while large ones take few lines.
[[nodiscard]] std::uint64_t fitting_line(const query::memory_map& map, std::int64_t fits);
/// The shortest such line that no segment is longer than.
[[nodiscard]] std::uint64_t longest_line(const query::memory_map& map);

/// The item that holds `address` or, where none does, comes next; its end if there is none. O(log items).
[[nodiscard]] std::size_t item_at(const query::address_segment& segment, std::uint64_t address);

}  // namespace sluice::gui
