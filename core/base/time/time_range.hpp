#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice {

/// A time in nanoseconds on the recording's single clock, which starts at 0. Times before the start are negative.
using time_ns = std::int64_t;

/// The half-open range [begin, end) of times in a recording. Empty if end <= begin.
struct time_range {
  time_ns begin = 0;
  time_ns end = 0;
  [[nodiscard]] time_ns length() const { return end - begin; }
  [[nodiscard]] constexpr bool holds(time_ns time) const { return time >= begin && time < end; }
  friend bool operator==(const time_range&, const time_range&) = default;
};

/// Times are clamped to +-2^61 ns (73 years), so that the difference of two times cannot overflow, whatever a file
/// contains.
inline constexpr time_ns latest_time = time_ns{1} << 61;

[[nodiscard]] constexpr time_ns bounded(time_ns time) { return std::clamp(time, -latest_time, latest_time); }

/// Returns `range` with both ends clamped (`bounded`). If the end is before the start, it is moved to the start.
[[nodiscard]] constexpr time_range bounded(time_range range) {
  const time_ns begin = bounded(range.begin);
  return {begin, std::max(begin, bounded(range.end))};
}

/// The range that contains every bounded time. An index with this range covers a whole recording.
inline constexpr time_range all_time{-latest_time, latest_time + 1};

/// Returns the intersection of two ranges, which may be empty.
[[nodiscard]] constexpr time_range intersect(time_range a, time_range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace sluice
