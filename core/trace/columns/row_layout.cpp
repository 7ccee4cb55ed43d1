#include "core/trace/columns/row_layout.hpp"

#include <string>
#include <type_traits>

#include "core/trace/columns/column_set.hpp"
#include "core/trace/columns/column_values.hpp"

namespace sluice::trace {
namespace {

template <class Row, class Class, class Member>
member_layout layout_of_member(const Row& usual, const field<Class, Member>& field) {
  const auto begin = reinterpret_cast<const std::byte*>(&usual);
  const auto at = reinterpret_cast<const std::byte*>(&(usual.*field.member));
  member_layout made;
  made.number = field.number;
  made.offset = static_cast<std::uint16_t>(at - begin);
  if constexpr (std::is_same_v<Member, std::string>) {
    made.kind = member_kind::text;
  } else {
    made.width = sizeof(Member);
    made.usual = to_bits(usual.*field.member);
    made.is_time = std::is_same_v<Member, time_ns>;
    if constexpr (std::is_same_v<Member, bool>) {
      made.kind = member_kind::boolean;
    } else if constexpr (std::is_enum_v<Member>) {
      static_assert(std::is_unsigned_v<std::underlying_type_t<Member>>);
      made.known_values = enum_values<Member>;
      made.kind = made.known_values == 0 ? member_kind::number : member_kind::enumeration;
    } else {
      static_assert(std::is_unsigned_v<Member> || sizeof(Member) == 8);
    }
  }
  return made;
}

template <class Row>
row_layout make_layout() {
  const Row usual{};
  row_layout made;
  made.type = type_of_row<Row>;
  made.bytes = sizeof(Row);
  made.has_differences = has_differences<Row>;
  schema<Row>::apply([&](const auto&... fields) { (made.members.push_back(layout_of_member(usual, fields)), ...); });
  if constexpr (requires { usual.time; }) made.time = number_of<Row>(&Row::time);
  if constexpr (requires { usual.time, usual.end; }) made.end = number_of<Row>(&Row::end);
  if constexpr (std::is_same_v<Row, chunk_reach_row>) {
    made.lowest_event = number_of<Row>(&Row::lowest_event);
    made.highest_event = number_of<Row>(&Row::highest_event);
  } else if constexpr (std::is_same_v<Row, curve_bin_row> || std::is_same_v<Row, integer_bin_row>) {
    made.lowest_event = made.highest_event = number_of<Row>(&Row::curve);
  } else if constexpr (std::is_same_v<Row, lane_bin_row>) {
    made.lowest_event = made.highest_event = number_of<Row>(&Row::lane);
  } else if constexpr (is_event_row<Row>) {
    made.lowest_event = made.highest_event = number_of<Row>(subject_member<Row>);
  }
  return made;
}

}  // namespace

template <class Row>
const row_layout& layout_of() {
  // `growing_columns` compares rows two words at a time, which requires this.
  static_assert(sizeof(Row) % sizeof(std::uint64_t) == 0 && sizeof(Row) >= 2 * sizeof(std::uint64_t));
  static const row_layout made = make_layout<Row>();
  return made;
}

#define SLUICE_INSTANTIATE(row, kind) template const row_layout& layout_of<row>();
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_INSTANTIATE)
SLUICE_INSTANTIATE(index_row, index)
SLUICE_INSTANTIATE(index_page_row, index)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace
