#include "core/import/chrome_number.hpp"

#include <bit>
#include <cstring>
#include <limits>

namespace sluice::importing {
namespace {

constexpr std::uint64_t no_more = std::numeric_limits<std::uint64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The exponent that `text` begins with, an 'e' included; limited to what any number here can need. None if it is malformed.
std::optional<int> exponent_of(std::string_view text) {
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

/// A decimal number taken apart: digits before and behind the point, and the exponent.
struct decimal {
  bool negative = false;
  std::string_view whole, fraction;
  int exponent = 0;

  static std::optional<decimal> of(std::string_view text) {
    decimal made;
    if (!text.empty() && text.front() == '-') {
      made.negative = true;
      text.remove_prefix(1);
    }
    std::size_t at = 0;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == 0) return std::nullopt;
    made.whole = text.substr(0, at);
    text.remove_prefix(at);
    if (!text.empty() && text.front() == '.') {
      at = 1;
      while (at < text.size() && is_digit(text[at])) ++at;
      if (at == 1) return std::nullopt;
      made.fraction = text.substr(1, at - 1);
      text.remove_prefix(at);
    }
    const auto power = exponent_of(text);
    if (!power) return std::nullopt;
    made.exponent = *power;
    return made;
  }

  /// The digit `index` places right of the first of `whole`; zeros beyond.
  [[nodiscard]] unsigned digit(std::int64_t index) const {
    const auto whole_digits = static_cast<std::int64_t>(whole.size());
    if (index < 0) return 0;
    if (index < whole_digits) return static_cast<unsigned>(whole[static_cast<std::size_t>(index)] - '0');
    index -= whole_digits;
    if (index >= static_cast<std::int64_t>(fraction.size())) return 0;
    return static_cast<unsigned>(fraction[static_cast<std::size_t>(index)] - '0');
  }

  /// Its magnitude times 10^`power`, the rest rounded to the nearest or cut; none beyond 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> scaled(int power, bool round) const {
    // Digits that count: those of `whole`, and as many more (or fewer) as the powers say.
    const std::int64_t count = static_cast<std::int64_t>(whole.size()) + exponent + power;
    const auto given = static_cast<std::int64_t>(whole.size() + fraction.size());
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (value == 0 && i >= given) return 0;  // All zeros, whatever the exponent.
      const unsigned next = digit(i);
      if (value > (no_more - next) / 10) return std::nullopt;
      value = value * 10 + next;
    }
    if (round && digit(count) >= 5 && value != no_more) ++value;
    return value;
  }
};

/// The number that eight digits are; none if one is no digit. Adds neighbours up, first digits, then pairs, then fours: after Lemire,
/// "Quickly parsing eight digits", 2018.
std::optional<std::uint64_t> eight_digits(std::uint64_t text) {
  const std::uint64_t digits = text ^ 0x3030'3030'3030'3030;
  if (((digits | (digits + 0x0606'0606'0606'0606)) & 0xf0f0'f0f0'f0f0'f0f0) != 0) return std::nullopt;
  const std::uint64_t pairs = (digits * 10 + (digits >> 8)) & 0x00ff'00ff'00ff'00ff;
  const std::uint64_t fours = (pairs * 100 + (pairs >> 16)) & 0x0000'ffff'0000'ffff;
  return (fours * 10'000 + (fours >> 32)) & 0xffff'ffff;
}

/// Of up to 18 characters, all of them digits.
std::optional<std::uint64_t> plain_digits(std::string_view text) {
  std::uint64_t value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; text.size() >= 8; text.remove_prefix(8)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, text.data(), sizeof eight);
      const auto digits = eight_digits(eight);
      if (!digits) return std::nullopt;
      value = value * 100'000'000 + *digits;
    }
  }
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<unsigned char>(c - '0');
  }
  return value;
}

std::optional<std::int64_t> with_sign(std::uint64_t magnitude, bool negative) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > most) return std::nullopt;
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

}  // namespace

std::optional<std::int64_t> parse_thousandths(std::string_view text) {
  // What profilers write: up to 15 digits, a point, three digits.
  if (text.size() >= 5 && text.size() <= 19 && text[text.size() - 4] == '.') {
    const auto whole = plain_digits(text.substr(0, text.size() - 4)),
               thousandths = plain_digits(text.substr(text.size() - 3));
    if (whole && thousandths) return static_cast<std::int64_t>(*whole * 1'000 + *thousandths);
  }
  const auto number = decimal::of(text);
  if (!number) return std::nullopt;
  const auto magnitude = number->scaled(3, true);
  return magnitude ? with_sign(*magnitude, number->negative) : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text, bool wrap) {
  if (!text.empty() && text.size() <= 18)
    if (const auto value = plain_digits(text)) return static_cast<std::int64_t>(*value);
  const auto number = decimal::of(text);
  if (!number) return std::nullopt;
  const auto magnitude = number->scaled(0, false);
  if (!magnitude) return std::nullopt;
  if (wrap && !number->negative) return static_cast<std::int64_t>(*magnitude);
  return with_sign(*magnitude, number->negative);
}

}  // namespace sluice::importing
