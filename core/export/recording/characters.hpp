#pragma once

#include <string_view>

/// Classes of characters for parsing the texts of recordings. They do not depend on the locale.
namespace sluice::exports {

inline constexpr std::size_t nowhere = std::string_view::npos;
inline constexpr std::string_view spaces = " \t\n\r";
inline constexpr std::string_view quotes = "'\"`";

[[nodiscard]] constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
[[nodiscard]] constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter(char c) { return is_upper(c) || is_lower(c); }
[[nodiscard]] constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
[[nodiscard]] constexpr bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
[[nodiscard]] constexpr bool is_one_of(char c, std::string_view which) { return which.find(c) != nowhere; }
/// True for characters that occur in the names of variables, options, headers and hosts.
[[nodiscard]] constexpr bool is_of_name(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }

}  // namespace sluice::exports
