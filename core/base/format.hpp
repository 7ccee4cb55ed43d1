#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Formats numbers for display. The report and the window use the same functions, so they show the same text.
namespace sluice {

/// Formats a size: "0 B", "1.50 KiB", "121 GiB". Uses binary units and three digits.
[[nodiscard]] std::string format_bytes(double bytes);
[[nodiscard]] inline std::string format_bytes(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

/// Formats a rate: "52.1 GB/s", "830 MB/s", "12.0 kB/s". Uses decimal units and three digits.
[[nodiscard]] std::string format_rate(double bytes_per_second);

/// Formats a duration: "450 ns", "12.3 µs", "1.50 ms", "2.00 s". Uses three digits, or whole seconds above 1000 s.
[[nodiscard]] std::string format_time(std::int64_t ns);

/// Formats a point in time: "2.314159 s", "18.130 ms" (to a microsecond); below 1 ms "200.000 µs" (to a nanosecond).
[[nodiscard]] std::string format_moment(std::int64_t time);

/// Formats a share in 0..1: "12 %", "0.3 %", "<0.1 %", ">99.9 %". "0 %" means exactly 0, and "100 %" exactly 1.
[[nodiscard]] std::string format_share(double share);

/// Formats `part` as a share of `whole`, or "-" if there is no whole, or the part is longer: the part then extends beyond
/// the whole, or overlaps itself.
template <class Number>
[[nodiscard]] std::string format_part(Number part, Number whole) {
  return whole > 0 && part <= whole ? format_share(static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

/// Formats a count: "1,234,567".
[[nodiscard]] std::string format_count(std::uint64_t count);

/// Formats an address: "0x7f3a00000000".
[[nodiscard]] std::string format_address(std::uint64_t address);

/// Formats a count with its noun, which is in the plural unless the count is 1: "3 blocks", "1 block".
[[nodiscard]] std::string format_some(std::uint64_t count, std::string_view noun);

/// Returns the name of a kernel or function as its programmer wrote it: C++ symbols are demangled. Other names are
/// returned unchanged, and so are symbols that exceed the limits of `demangled`.
[[nodiscard]] std::string readable_name(std::string_view symbol);

/// Returns `text` cut to at most `columns` bytes, including the "..." that marks the cut. If `columns` < 4, returns
/// `text` uncut.
[[nodiscard]] std::string shortened(std::string text, std::size_t columns);

}  // namespace sluice
