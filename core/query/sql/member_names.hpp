#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/spelling.hpp"
#include "core/trace/model/schema.hpp"

/// Derives the names of row members from the schema, so that no second list of them is needed.
namespace sluice::query {

/// The pointer to member number `Index` in the schema of `Row`.
template <class Row, std::size_t Index>
inline constexpr auto member_at = trace::field_at<Row, Index>.member;

/// The name of member number `Index` in the schema of `Row`: "block", "time".
template <class Row, std::size_t Index>
[[nodiscard]] constexpr std::string_view member_name() {
  return spelling::of_pointer<member_at<Row, Index>>();
}

}  // namespace sluice::query
