#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/trace/model/kinds.hpp"

/// Converts the members of rows to the 64-bit integers that columns store, and back.
namespace sluice::trace {

/// Converts `value` to the 64-bit integer that its column stores.
template <class T>
[[nodiscard]] std::uint64_t to_bits(T value) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (!std::is_enum_v<T> && std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

/// Converts `bits` to the type of `value` and stores the result there. Returns false if `bits` do not fit that type;
/// `value` is then meaningless. An unknown enum value becomes 0. The code has no branches, because in a valid file
/// every value fits.
template <class T>
[[nodiscard]] bool from_bits(std::uint64_t bits, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = bits != 0;
  } else if constexpr (std::is_same_v<T, double>) {
    value = std::bit_cast<double>(bits);
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (enum_values<T> != 0) bits = bits < enum_values<T> ? bits : 0;
    value = static_cast<T>(bits);
    return bits <= std::numeric_limits<std::underlying_type_t<T>>::max();
  } else if constexpr (std::is_signed_v<T>) {
    static_assert(sizeof(T) == 8);
    value = static_cast<T>(bits);
  } else {
    value = static_cast<T>(bits);
    return bits <= std::numeric_limits<T>::max();
  }
  return true;
}

}  // namespace sluice::trace
