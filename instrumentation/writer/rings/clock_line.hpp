#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice::writer {

/// One reading of three clocks at (nearly) the same moment.
struct clock_anchor {
  std::uint64_t tsc = 0;  ///< 0 if there is no TSC.
  std::int64_t monotonic = 0;
  std::int64_t realtime = 0;
};

/// Reads the clocks a few times and returns the least disturbed reading. Its error is about 20 ns.
[[nodiscard]] clock_anchor read_clocks();

/// Converts TSC values to CLOCK_MONOTONIC by linear interpolation between anchors. If an anchor is added at each
/// drain, drained times are always between two anchors. Old anchors are thinned to one per second. Not thread-safe.
class clock_line {
 public:
  /// Adds an anchor. Anchors must be added in order of time; an anchor that is not later than the last is ignored.
  void add(const clock_anchor& anchor);

  /// The CLOCK_MONOTONIC time, in ns, of a TSC value. Outside the anchors, extrapolates with the nearest slope. With
  /// fewer than two anchors, returns the time of the first. O(log anchors), O(1) for recent times.
  [[nodiscard]] std::int64_t to_monotonic(std::uint64_t tsc) const {
    return tsc >= last_.start.tsc && last_.slope != 0 ? last_.at(tsc) : to_monotonic_before(tsc);
  }

  [[nodiscard]] const std::vector<clock_anchor>& anchors() const { return anchors_; }

 private:
  /// The line between two consecutive anchors.
  struct segment {
    segment() = default;
    segment(const clock_anchor& begin, const clock_anchor& end)
        : start(begin),
          slope(static_cast<double>(end.monotonic - begin.monotonic) / static_cast<double>(end.tsc - begin.tsc)) {}
    [[nodiscard]] std::int64_t at(std::uint64_t tsc) const {
      const double ticks =
          tsc >= start.tsc ? static_cast<double>(tsc - start.tsc) : -static_cast<double>(start.tsc - tsc);
      const double ns = std::clamp(ticks * slope, -4e18, 4e18);
      return start.monotonic + static_cast<std::int64_t>(ns + (ns < 0 ? -0.5 : 0.5));
    }
    clock_anchor start;
    double slope = 0;  ///< 0: there are fewer than two anchors.
  };
  [[nodiscard]] std::int64_t to_monotonic_before(std::uint64_t tsc) const;
  void thin_out();
  std::vector<clock_anchor> anchors_;
  std::size_t thinned_ = 0;  ///< The anchors before this index are thinned to one per second.
  segment last_;
};

}  // namespace sluice::writer
