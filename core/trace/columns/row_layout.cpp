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
  member_layout layout;
  layout.number = field.number;
  layout.offset = static_cast<std::uint16_t>(at - begin);
  if constexpr (std::is_same_v<Member, std::string>) {
    layout.kind = member_kind::text;
  } else {
    layout.width = sizeof(Member);
    layout.usual = to_bits(usual.*field.member);
    layout.is_time = std::is_same_v<Member, time_ns>;
    if constexpr (std::is_same_v<Member, bool>) {
      layout.kind = member_kind::boolean;
    } else if constexpr (std::is_enum_v<Member>) {
      static_assert(std::is_unsigned_v<std::underlying_type_t<Member>>);
      layout.known_values = enum_values<Member>;
      layout.kind = layout.known_values == 0 ? member_kind::number : member_kind::enumeration;
    } else {
      static_assert(std::is_unsigned_v<Member> || sizeof(Member) == 8);
    }
  }
  return layout;
}

template <class Row>
row_layout make_layout() {
  const Row usual{};
  row_layout layout;
  layout.type = type_of_row<Row>;
  layout.bytes = sizeof(Row);
  layout.has_differences = has_differences<Row>;
  schema<Row>::apply([&](const auto&... fields) { (layout.members.push_back(layout_of_member(usual, fields)), ...); });
  if constexpr (requires { usual.time; }) layout.time = to_number<Row>(&Row::time);
  if constexpr (requires { usual.time, usual.end; }) layout.end = to_number<Row>(&Row::end);
  if constexpr (is_event_row<Row> && requires { usual.length; }) layout.length = to_number<Row>(&Row::length);
  if constexpr (std::is_same_v<Row, chunk_reach_row>) {
    layout.lowest_event = to_number<Row>(&Row::lowest_event);
    layout.highest_event = to_number<Row>(&Row::highest_event);
  } else if constexpr (std::is_same_v<Row, curve_bin_row> || std::is_same_v<Row, integer_bin_row>) {
    layout.lowest_event = layout.highest_event = to_number<Row>(&Row::curve);
  } else if constexpr (std::is_same_v<Row, lane_bin_row>) {
    layout.lowest_event = layout.highest_event = to_number<Row>(&Row::lane);
  } else if constexpr (is_event_row<Row>) {
    layout.lowest_event = layout.highest_event = to_number<Row>(subject_member<Row>);
  }
  return layout;
}

}  // namespace

template <class Row>
const row_layout& get_layout() {
  // `growing_columns` compares rows two words at a time, which requires this.
  static_assert(sizeof(Row) % sizeof(std::uint64_t) == 0 && sizeof(Row) >= 2 * sizeof(std::uint64_t));
  static const row_layout layout = make_layout<Row>();
  return layout;
}

#define SLUICE_INSTANTIATE(row, kind) template const row_layout& get_layout<row>();
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_INSTANTIATE)
SLUICE_INSTANTIATE(index_row, index)
SLUICE_INSTANTIATE(index_page_row, index)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace
