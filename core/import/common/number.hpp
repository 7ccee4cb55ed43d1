#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

/// Exact parsing of JSON numbers. Private to core/import.
namespace sluice::importing {

/// Parses a decimal number and multiplies it by 1000, for example to convert microseconds to ns: "4320677463303.514"
/// gives 4320677463303514. Rounds to the nearest integer, halves away from zero. Accepts exponents. Returns nullopt if
/// the text is not a number or the result exceeds 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_thousandths(std::string_view text);

/// Parses a number, which may have a fraction or an exponent, and rounds it towards zero. `wrap`: also accept values up
/// to 2^64 - 1, and return the signed number with the same bits. Returns nullopt if the text is not a number or the
/// result exceeds 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text, bool wrap = false);

/// The number of bytes after a text that must be readable, because the functions below read eight bytes at a time.
inline constexpr std::size_t number_margin = 8;

namespace detail {

inline constexpr std::uint64_t eight_zeros = 0x3030'3030'3030'3030;  ///< The text "00000000".

inline std::uint64_t load_eight(const char* at) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, at, sizeof eight);
  if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
  return eight;
}

/// Loads the first `count` bytes (1 to 8) at `at`, and pads them in front with '0' to eight characters.
inline std::uint64_t load_behind_zeros(const char* at, std::size_t count) {
  const auto missing = static_cast<unsigned>(8 * (8 - count));
  return load_eight(at) << missing | (eight_zeros >> 1 >> (63 - missing));
}

/// Parses eight digits. Returns false if any character is not a digit. Combines neighboring digits to pairs, then pairs
/// to fours, then fours to eight (Lemire, "Quickly parsing eight digits", 2018).
inline bool eight_digits(std::uint64_t text, std::uint64_t& number) {
  const std::uint64_t digits = text ^ eight_zeros;
  const std::uint64_t pairs = (digits * 10 + (digits >> 8)) & 0x00ff'00ff'00ff'00ff;
  const std::uint64_t fours = (pairs * 100 + (pairs >> 16)) & 0x0000'ffff'0000'ffff;
  number = (fours * 10'000 + (fours >> 32)) & 0xffff'ffff;
  return ((digits | (digits + 0x0606'0606'0606'0606)) & 0xf0f0'f0f0'f0f0'f0f0) == 0;
}

}  // namespace detail

// The functions below do not return std::optional. The compiler would write it to memory in parts and read it as a
// whole, which would take half of the run time.

/// Parses 1 to 16 digits. Returns false for any other text, for which callers should try `parse_integer`. O(1).
[[nodiscard]] inline bool quick_integer(std::string_view text, std::uint64_t& number) {
  const std::size_t size = text.size();
  if (size - 1 < 8) return detail::eight_digits(detail::load_behind_zeros(text.data(), size), number);
  if (size - 1 >= 16) return false;
  std::uint64_t before = 0;
  const bool are_digits = detail::eight_digits(detail::load_behind_zeros(text.data(), size - 8), before);
  const bool all_are = are_digits && detail::eight_digits(detail::load_eight(text.data() + size - 8), number);
  number += before * 100'000'000;
  return all_are;
}

/// Like `parse_thousandths`, but only for 1 to 16 digits followed by a point and three digits, which is how profilers
/// write times. Returns false for any other text, and if the result exceeds 64 bits. O(1).
[[nodiscard]] inline bool quick_thousandths(std::string_view text, std::int64_t& number) {
  const std::size_t size = text.size();
  if (size < 5 || size > 20) return false;
  const std::uint64_t last =
      size < 8 ? detail::load_behind_zeros(text.data(), size) : detail::load_eight(text.data() + size - 8);
  if ((last >> 32 & 0xff) != '.') return false;
  // Keep the three digits, and shift the four before the point up to them.
  const std::uint64_t joined = (last & 0xffff'ff00'0000'0000) | (last & 0xffff'ffff) << 8 | '0';
  std::uint64_t seven = 0, before = 0;
  const bool are_digits =
      detail::eight_digits(joined, seven) && (size <= 8 || quick_integer(text.substr(0, size - 8), before));
  const std::uint64_t magnitude = before * 10'000'000 + seven;  // Less than 10^19.
  number = static_cast<std::int64_t>(magnitude);
  return are_digits && magnitude <= INT64_MAX;
}

}  // namespace sluice::importing
