#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/trace/model/schema.hpp"

/// The schema of a row type as run-time data: where each member lies in memory, and in which column of a file. The
/// codec handles rows through this data, so it is compiled once instead of once for each row type.
namespace sluice::trace {

/// What a member's 64-bit column value stands for.
enum class member_kind : std::uint8_t {
  number,       ///< An integer, an id, or the bits of a double.
  boolean,      ///< Every value but 0 is true.
  enumeration,  ///< A value that this version does not know reads as 0, "unknown".
  text,         ///< A std::string.
};

struct member_layout {
  std::uint16_t number = 0;  ///< Number of the column; never reused for another member.
  std::uint16_t offset = 0;  ///< Byte offset in the row struct.
  std::uint8_t width = 0;    ///< Size in bytes: 1, 2, 4 or 8; 0 for a text.
  member_kind kind = member_kind::number;
  bool is_time = false;            ///< Of type `time_ns`: the codec tries to store it relative to the row's time.
  std::uint64_t usual = 0;         ///< The member's default, as a column value.
  std::uint64_t known_values = 0;  ///< For an enumeration: values from this number on are unknown.

  [[nodiscard]] bool is_text() const { return kind == member_kind::text; }
  /// True if the member can hold a column's value. Signed members have 8 bytes: only unsigned ones can be too narrow.
  [[nodiscard]] bool fits(std::uint64_t value) const {
    return kind != member_kind::number || width == 8 || value >> (8 * width) == 0;
  }
};

/// Returns the member of `row` as the 64-bit value that its column holds.
[[nodiscard]] inline std::uint64_t load(const member_layout& member, const std::byte* row) {
  std::uint64_t value = 0;
  std::memcpy(&value, row + member.offset, member.width);
  return value;
}

/// Writes a column's value into a member of `row`. The member must not be a text, and the value must fit (`fits`).
inline void store(const member_layout& member, std::uint64_t value, std::byte* row) {
  if (member.kind == member_kind::boolean) value = static_cast<std::uint64_t>(value != 0);
  if (member.kind == member_kind::enumeration && value >= member.known_values) value = 0;
  std::memcpy(row + member.offset, &value, member.width);
}

struct row_layout {
  row_type type{};
  std::size_t bytes = 0;               ///< Size of the row struct.
  std::vector<member_layout> members;  ///< In the order of the schema.
  /// Numbers of the columns whose range is stored with each chunk; 0: the row type has no such column.
  std::uint16_t time = 0, end = 0, lowest_event = 0, highest_event = 0;
  bool has_differences = false;  ///< Signed columns except `time` hold differences, not times.
};

/// Returns the layout of a row type, made at the first call. Thread-safe.
template <class Row>
[[nodiscard]] const row_layout& layout_of();

}  // namespace sluice::trace
