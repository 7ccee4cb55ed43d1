#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/trace/model/schema.hpp"

/// The schema of a row type as run-time data: for each member, its position in memory and its column in a file. The
/// codec reads this data, so it is compiled once instead of once for each row type.
namespace sluice::trace {

/// How a member is represented by the 64-bit value of its column.
enum class member_kind : std::uint8_t {
  number,       ///< An integer, an id, or the bits of a double.
  boolean,      ///< 0 is false; every other value is true.
  enumeration,  ///< A value that this version does not know reads as 0, "unknown".
  text,         ///< A std::string.
};

/// One member of a row type.
struct member_layout {
  std::uint16_t number = 0;  ///< Number of the column; never reused for another member.
  std::uint16_t offset = 0;  ///< Byte offset in the row struct.
  std::uint8_t width = 0;    ///< Size in bytes: 1, 2, 4 or 8; 0 for a text.
  member_kind kind = member_kind::number;
  bool is_time = false;            ///< True for type `time_ns`. The codec tries to store the member relative to the
                                   ///< row's time.
  std::uint64_t usual = 0;         ///< The member's default, as a column value.
  std::uint64_t known_values = 0;  ///< For an enumeration, the number of known values. Values from this number on are
                                   ///< unknown.

  [[nodiscard]] bool is_text() const { return kind == member_kind::text; }
  /// True if the member can hold `value`, a column's value. Signed members have 8 bytes, so only unsigned members can
  /// be too narrow.
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

/// Stores `value`, a column's value, in a member of `row`. The member must not be a text, and the value must fit
/// (`fits`).
inline void store(const member_layout& member, std::uint64_t value, std::byte* row) {
  if (member.kind == member_kind::boolean) value = static_cast<std::uint64_t>(value != 0);
  if (member.kind == member_kind::enumeration && value >= member.known_values) value = 0;
  std::memcpy(row + member.offset, &value, member.width);
}

/// A row type and its members.
struct row_layout {
  row_type type{};
  std::size_t bytes = 0;               ///< Size of the row struct.
  std::vector<member_layout> members;  ///< In the order of the schema.
  /// Numbers of the columns whose ranges are stored with each chunk; 0: the row type has no such column.
  std::uint16_t time = 0, end = 0, lowest_event = 0, highest_event = 0;
  std::uint16_t length = 0;      ///< For an event with a length instead of an end: the number of that column; else 0.
  bool has_differences = false;  ///< True if signed columns other than `time` hold differences instead of times.
};

/// Returns the layout of a row type, created by the first call. Thread-safe.
template <class Row>
[[nodiscard]] const row_layout& get_layout();

}  // namespace sluice::trace
