#pragma once

#include <cmath>
#include <concepts>
#include <limits>

/// Arithmetic on untrusted values from a file. A result that does not fit its type is clamped to the type's limits
/// instead of overflowing.
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

/// Converts `value` to an integer: rounds down and clamps to the limits of `Number`. NaN becomes 0.
template <std::integral Number>
[[nodiscard]] Number saturating_cast(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<Number>::min())) return std::numeric_limits<Number>::min();
  // The largest value is a power of two minus one. As a double, it is rounded up to that power.
  if (value >= static_cast<double>(std::numeric_limits<Number>::max())) return std::numeric_limits<Number>::max();
  return static_cast<Number>(std::floor(value));
}

/// Adds `more` to `sum`. A result that does not fit is clamped to the limits of `Number`.
template <std::integral Number>
constexpr void saturating_add(Number& sum, Number more) {
  sum = saturating_sum(sum, more);
}

/// Rounds a number of bytes to the nearest integer, clamped to the range of 64 bits.
[[nodiscard]] inline std::uint64_t whole_bytes(double bytes) {
  return saturating_cast<std::uint64_t>(std::round(bytes));
}

}  // namespace sluice
