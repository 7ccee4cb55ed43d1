#include "core/base/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "core/base/demangle.hpp"
#include "core/base/signed_text.hpp"

namespace sluice {
namespace {

/// Formats `value` with about three digits: 1.23, 12.3, 123, 1234.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

/// Formats `value` in the largest unit in which the number printed is at least one.
std::string scaled(double value, double step, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= step - 0.5) {
    value /= step;
    ++unit;
  }
  const std::string number = unit == 0 ? fmt::format("{:.0f}", value) : three_digits(value);
  return (std::signbit(value) && is_zero_text(number) ? number.substr(1) : number) + " " + units[unit];
}

}  // namespace

std::string format_bytes(double bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(bytes, 1024, units);
}

std::string format_rate(double bytes_per_second) {
  static constexpr std::array units = {"B/s", "kB/s", "MB/s", "GB/s"};
  return scaled(bytes_per_second, 1000, units);
}

std::string format_time(std::int64_t ns) {
  static constexpr std::array units = {"ns", "\u00b5s", "ms", "s"};
  return scaled(static_cast<double>(ns), 1000, units);
}

std::string format_moment(std::int64_t time) {
  const double ns = static_cast<double>(time);
  if (time == 0) return "0 s";
  if (std::abs(ns) < 1e6) return fmt::format("{:.3f} \u00b5s", ns * 1e-3);
  if (std::abs(ns) < 1e9) return fmt::format("{:.3f} ms", ns * 1e-6);
  return fmt::format("{:.6f} s", ns * 1e-9);
}

std::string format_share(double share) {
  if (share < 0) return with_sign(share, format_share(-share));
  const double percent = std::abs(share) * 100;  // not -0
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (percent > 0 && percent < 0.95) return fmt::format("{:.1f} %", percent);
  if (percent > 99.95 && percent < 100) return ">99.9 %";
  if (percent > 99.05 && percent < 100) return fmt::format("{:.1f} %", percent);
  return fmt::format("{:.0f} %", percent);
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string format_address(std::uint64_t address) { return fmt::format("{:#x}", address); }

std::string format_some(std::uint64_t count, std::string_view noun) {
  std::string plural(noun);
  if (count != 1) {
    if (plural.ends_with("y") && !plural.ends_with("ay")) {
      plural.replace(plural.size() - 1, 1, "ies");
    } else {
      plural += plural.ends_with("s") ? "es" : "s";
    }
  }
  return format_count(count) + " " + plural;
}

std::string readable_name(std::string_view symbol) {
  std::string text(symbol);
  std::string plain = demangled(text);
  return plain.empty() ? text : plain;
}

std::string shortened(std::string text, std::size_t columns) {
  if (text.size() <= columns || columns < 4) return text;
  std::size_t keep = columns - 3;
  while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xc0U) == 0x80) --keep;  // Keep UTF-8 characters whole.
  text.resize(keep);
  return text + "...";
}

}  // namespace sluice
