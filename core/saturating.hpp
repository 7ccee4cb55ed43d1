#pragma once

#include <concepts>
#include <limits>

/// Sums of what a file says, which may be anything: one that does not fit stays at the limit, where overflow would be undefined.
namespace sluice {

template <std::signed_integral Number>
[[nodiscard]] constexpr Number saturating_sum(Number a, Number b) {
  Number sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<Number>::min() : std::numeric_limits<Number>::max();
}

/// `sum` += `more`, within the limits.
template <std::signed_integral Number>
constexpr void saturating_add(Number& sum, Number more) {
  sum = saturating_sum(sum, more);
}

}  // namespace sluice
