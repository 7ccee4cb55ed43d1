#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Numbers and words for people; the report and the window use the same ones.
namespace sluice {

/// "0 B", "1.50 KiB", "121 GiB": binary units, three digits.
[[nodiscard]] std::string format_bytes(double bytes);
[[nodiscard]] inline std::string format_bytes(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

/// "52.1 GB/s", "830 MB/s", "12.0 kB/s": decimal units, three digits.
[[nodiscard]] std::string format_rate(double bytes_per_second);

/// A length of time: "450 ns", "12.3 µs", "1.50 ms", "2.00 s"; three digits, whole seconds kept beyond 1000 s.
[[nodiscard]] std::string format_time(std::int64_t ns);

/// A point in time: "2.314159 s", "18.130 ms", to the microsecond; "200.000 µs", to the nanosecond, under 1 ms.
[[nodiscard]] std::string format_moment(std::int64_t time);

/// "12 %", "0.3 %", "<0.1 %" of a share in 0..1; 0 % and 100 % only for nothing and all.
[[nodiscard]] std::string format_share(double share);

/// "1,234,567".
[[nodiscard]] std::string format_count(std::uint64_t count);

/// "0x7f3a00000000".
[[nodiscard]] std::string format_address(std::uint64_t address);

/// "3 blocks", "1 block".
[[nodiscard]] std::string format_some(std::uint64_t count, std::string_view noun);

/// A kernel's or function's name as its programmer wrote it: C++ symbols are demangled, others returned as they are; so are those that
/// only a hostile file has (see `demangled`).
[[nodiscard]] std::string readable_name(std::string_view symbol);

/// `text` cut to `columns` characters, with "..." where something is missing.
[[nodiscard]] std::string shortened(std::string text, std::size_t columns);

}  // namespace sluice
