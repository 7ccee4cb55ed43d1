#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/trace/model/schema.hpp"

/// The schema of a kind of row as a table: where each member lies in memory, and in which column of a file. The codec works on rows through
/// these tables, so it is compiled once and not once for each kind of row.
namespace sluice::trace {

/// What a member's 64-bit column value stands for.
enum class member_kind : std::uint8_t {
  number,       ///< An integer, an id, or the bits of a double.
  boolean,      ///< Every value but 0 is true.
  enumeration,  ///< A value that this version does not know reads as 0, "unknown".
  text,         ///< A std::string.
};

struct member_layout {
  std::uint16_t number = 0;  ///< Of the column; never reused for something else.
  std::uint16_t offset = 0;  ///< In the row, in bytes.
  std::uint8_t width = 0;    ///< 1, 2, 4 or 8 bytes; 0 for a text.
  member_kind kind = member_kind::number;
  bool is_time = false;            ///< A signed number: the codec tries to store it relative to the row's time.
  std::uint64_t usual = 0;         ///< The member's value by default.
  std::uint64_t known_values = 0;  ///< Of an enumeration: values from here on are unknown.

  [[nodiscard]] bool is_text() const { return kind == member_kind::text; }
  /// Whether the member can hold a column's value. Signed members are 8 bytes wide, so only unsigned ones can be too narrow.
  [[nodiscard]] bool fits(std::uint64_t value) const {
    return kind != member_kind::number || width == 8 || value >> (8 * width) == 0;
  }
};

/// Reads a member from a row, as its column holds it.
[[nodiscard]] inline std::uint64_t load(const member_layout& member, const std::byte* row) {
  std::uint64_t value = 0;
  std::memcpy(&value, row + member.offset, member.width);
  return value;
}

/// Writes a column's value into the member of a row that is not a text. The value fits it.
inline void store(const member_layout& member, std::uint64_t value, std::byte* row) {
  if (member.kind == member_kind::boolean) value = static_cast<std::uint64_t>(value != 0);
  if (member.kind == member_kind::enumeration && value >= member.known_values) value = 0;
  std::memcpy(row + member.offset, &value, member.width);
}

struct row_layout {
  row_type type{};
  std::size_t bytes = 0;               ///< Of a row in memory.
  std::vector<member_layout> members;  ///< In the order of the schema.
  /// Columns that a chunk's header gives the range of; 0 where the row has none.
  std::uint16_t time = 0, end = 0, lowest_event = 0, highest_event = 0;
  bool has_differences = false;  ///< See `trace::has_differences`.
};

/// The table of a kind of row; made when first asked for. Thread-safe.
template <class Row>
[[nodiscard]] const row_layout& layout_of();

}  // namespace sluice::trace
