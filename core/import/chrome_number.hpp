#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// Numbers of JSON text, exactly. Private to core/import.
namespace sluice::importing {

/// A decimal number of thousands of the result, such as microseconds of which the result is ns: "4320677463303.514" is
/// 4320677463303514. What is left of a thousandth is rounded to the nearest, halves away from zero. An exponent is understood. No
/// value for what is no number, and for one whose result is beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_thousandths(std::string_view text);

/// An integer; a number with a fraction or an exponent is rounded towards zero. Also unsigned ones up to 2^64 - 1, as their bits
/// when `wrap`. No value for what is no number, and for one beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text, bool wrap = false);

}  // namespace sluice::importing
