#pragma once

#include <algorithm>
#include <limits>

#include "core/trace/ids.hpp"

namespace sluice::analysis {

using trace::time_ns;

/// [begin, end) in the trace's time. One whose end is not after its begin is empty.
struct time_range {
  time_ns begin = 0;
  time_ns end = 0;
  [[nodiscard]] time_ns length() const { return end - begin; }
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

}  // namespace sluice::analysis
