#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "core/trace/model/schema.hpp"

/// The names of row members, read from how the compiler prints a pointer to them, so the schema stays the only list.
namespace sluice::query {

namespace spelling {
template <auto Member>
[[nodiscard]] constexpr std::string_view of_pointer() {
  // GCC: "[with auto Member = &sluice::trace::event_base::id; std::string_view = ...]"; clang: "[Member = &...::id]".
  constexpr std::string_view all = __PRETTY_FUNCTION__;
  constexpr std::size_t after = all.find("Member = ");
  constexpr std::size_t end = all.find_first_of(";]", after);
  constexpr std::string_view path = all.substr(after, end - after);
  constexpr std::size_t last = path.rfind("::");
  constexpr std::string_view name = path.substr(last + 2);
  return name.substr(0, name.find_first_of(" )"));
}
}  // namespace spelling

template <class Row>
inline constexpr std::size_t field_count = std::tuple_size_v<decltype(trace::fields_of<Row>)>;

/// The pointer to member number `Index` in the schema of `Row`.
template <class Row, std::size_t Index>
inline constexpr auto member_at = std::get<Index>(trace::fields_of<Row>).member;

/// The name of member number `Index` in the schema of `Row`: "block", "time".
template <class Row, std::size_t Index>
[[nodiscard]] constexpr std::string_view member_name() {
  return spelling::of_pointer<member_at<Row, Index>>();
}

}  // namespace sluice::query
