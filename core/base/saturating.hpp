#pragma once

#include <cmath>
#include <concepts>
#include <limits>

/// Sums of what a file says, which may be anything: one that does not fit stays at the limit, where overflow would be undefined.
namespace sluice {

template <std::integral Number>
[[nodiscard]] constexpr Number saturating_sum(Number a, Number b) {
  Number sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  if constexpr (std::signed_integral<Number>) {
    if (b < 0) return std::numeric_limits<Number>::min();
  }
  return std::numeric_limits<Number>::max();
}

template <std::signed_integral Number>
[[nodiscard]] constexpr Number saturating_difference(Number a, Number b) {
  Number left = 0;
  if (!__builtin_sub_overflow(a, b, &left)) return left;
  return b < 0 ? std::numeric_limits<Number>::max() : std::numeric_limits<Number>::min();
}

/// The nearest integer below, within the limits; 0 for what is no number.
template <std::integral Number>
[[nodiscard]] Number saturating_cast(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<Number>::min())) return std::numeric_limits<Number>::min();
  // The largest is one below a power of two, and as a double that power itself.
  if (value >= static_cast<double>(std::numeric_limits<Number>::max())) return std::numeric_limits<Number>::max();
  return static_cast<Number>(std::floor(value));
}

/// `sum` += `more`, within the limits.
template <std::integral Number>
constexpr void saturating_add(Number& sum, Number more) {
  sum = saturating_sum(sum, more);
}

/// A mean or a sum of bytes that was reckoned in floating point, rounded.
[[nodiscard]] inline std::uint64_t whole_bytes(double bytes) {
  return saturating_cast<std::uint64_t>(std::round(bytes));
}

}  // namespace sluice
