#include "core/import/common/number.hpp"

#include <limits>

namespace sluice::importing {
namespace {

constexpr std::uint64_t no_more = std::numeric_limits<std::uint64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the exponent at the start of `text`, which begins with the 'e', clamped to a sufficient range. Returns
/// nullopt if it is malformed.
std::optional<int> get_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    if (value < 100'000) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

/// A decimal number in parts: the digits before and after the point, and the exponent.
struct decimal {
  bool negative = false;
  std::string_view whole, fraction;
  int exponent = 0;

  static std::optional<decimal> of(std::string_view text) {
    decimal output;
    if (!text.empty() && text.front() == '-') {
      output.negative = true;
      text.remove_prefix(1);
    }
    std::size_t at = 0;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == 0) return std::nullopt;
    output.whole = text.substr(0, at);
    text.remove_prefix(at);
    if (!text.empty() && text.front() == '.') {
      at = 1;
      while (at < text.size() && is_digit(text[at])) ++at;
      if (at == 1) return std::nullopt;
      output.fraction = text.substr(1, at - 1);
      text.remove_prefix(at);
    }
    const auto power = get_exponent(text);
    if (!power) return std::nullopt;
    output.exponent = *power;
    return output;
  }

  /// Returns the digit `index` places to the right of the first digit of `whole`, or 0 outside of the number.
  [[nodiscard]] unsigned digit(std::int64_t index) const {
    const auto whole_digits = static_cast<std::int64_t>(whole.size());
    if (index < 0) return 0;
    if (index < whole_digits) return static_cast<unsigned>(whole[static_cast<std::size_t>(index)] - '0');
    index -= whole_digits;
    if (index >= static_cast<std::int64_t>(fraction.size())) return 0;
    return static_cast<unsigned>(fraction[static_cast<std::size_t>(index)] - '0');
  }

  /// Returns the magnitude times 10^`power`. The remainder is rounded to the nearest or truncated. Returns nullopt if
  /// the result exceeds 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> scaled(int power, bool round) const {
    // The number of digits in the result is that of `whole`, plus or minus the powers of ten.
    const std::int64_t count = static_cast<std::int64_t>(whole.size()) + exponent + power;
    const auto given = static_cast<std::int64_t>(whole.size() + fraction.size());
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (value == 0 && i >= given) return 0;  // All digits are 0, so the exponent does not matter.
      const unsigned next = digit(i);
      if (value > (no_more - next) / 10) return std::nullopt;
      value = value * 10 + next;
    }
    if (round && digit(count) >= 5 && value != no_more) ++value;
    return value;
  }
};

std::optional<std::int64_t> with_sign(std::uint64_t magnitude, bool negative) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > most) return std::nullopt;
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

}  // namespace

std::optional<std::int64_t> parse_thousandths(std::string_view text) {
  const auto number = decimal::of(text);
  if (!number) return std::nullopt;
  const auto magnitude = number->scaled(3, true);
  return magnitude ? with_sign(*magnitude, number->negative) : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text, bool wrap) {
  const auto number = decimal::of(text);
  if (!number) return std::nullopt;
  const auto magnitude = number->scaled(0, false);
  if (!magnitude) return std::nullopt;
  if (wrap && !number->negative) return static_cast<std::int64_t>(*magnitude);
  return with_sign(*magnitude, number->negative);
}

}  // namespace sluice::importing
