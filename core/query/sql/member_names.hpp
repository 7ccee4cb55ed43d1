#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>

#include "core/base/spelling.hpp"
#include "core/trace/model/schema.hpp"

/// The names of row members, so that the schema stays the only list.
namespace sluice::query {

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
