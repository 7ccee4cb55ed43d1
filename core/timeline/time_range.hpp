#pragma once

#include <algorithm>
#include <limits>

#include "core/trace/model/ids.hpp"

namespace sluice::analysis {

using trace::time_ns;

/// [begin, end) in the trace's time. One whose end is not after its begin is empty.
struct time_range {
  time_ns begin = 0;
  time_ns end = 0;
  [[nodiscard]] time_ns length() const { return end - begin; }
  [[nodiscard]] constexpr bool holds(time_ns time) const { return time >= begin && time < end; }
  friend bool operator==(const time_range&, const time_range&) = default;
};

/// Times are held within +-2^61 ns (73 years), so that no difference of two of them can overflow, whatever a file says.
inline constexpr time_ns latest_time = time_ns{1} << 61;

[[nodiscard]] constexpr time_ns bounded(time_ns time) { return std::clamp(time, -latest_time, latest_time); }

/// `range` within the bounds, with an end that is not before its begin.
[[nodiscard]] constexpr time_range bounded(time_range range) {
  const time_ns begin = bounded(range.begin);
  return {begin, std::max(begin, bounded(range.end))};
}

/// Every bounded time: the run of an index that has taken in a whole recording.
inline constexpr time_range all_time{-latest_time, latest_time + 1};

/// What lies in both; it may be empty.
[[nodiscard]] constexpr time_range common_of(time_range a, time_range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace sluice::analysis
