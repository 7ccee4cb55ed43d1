#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice::collector {

/// One reading of the three clocks at (nearly) one moment.
struct clock_anchor {
  std::uint64_t tsc = 0;  ///< 0 where there is no such counter.
  std::int64_t monotonic = 0;
  std::int64_t realtime = 0;
};

/// Reads the clocks a few times and keeps the reading that was disturbed least: it is off by some 20 ns.
[[nodiscard]] clock_anchor read_clocks();

/// Converts counter readings to CLOCK_MONOTONIC, straight between anchors. With an anchor at each drain, what is drained
/// always lies between two of them. Old anchors are thinned to one a second. Not thread-safe.
class clock_line {
 public:
  /// Anchors come in order; one that does not advance is left out.
  void add(const clock_anchor& anchor);

  /// ns of CLOCK_MONOTONIC; outside the anchors the nearest slope goes on. Without two anchors, the first one's time.
  /// O(log anchors), O(1) for recent times.
  [[nodiscard]] std::int64_t to_monotonic(std::uint64_t tsc) const {
    return tsc >= last_.from.tsc && last_.slope != 0 ? last_.at(tsc) : to_monotonic_before(tsc);
  }

  [[nodiscard]] const std::vector<clock_anchor>& anchors() const { return anchors_; }

 private:
  /// From one anchor to the next.
  struct segment {
    segment() = default;
    segment(const clock_anchor& begin, const clock_anchor& end)
        : from(begin),
          slope(static_cast<double>(end.monotonic - begin.monotonic) / static_cast<double>(end.tsc - begin.tsc)) {}
    [[nodiscard]] std::int64_t at(std::uint64_t tsc) const {
      const double ticks = tsc >= from.tsc ? static_cast<double>(tsc - from.tsc) : -static_cast<double>(from.tsc - tsc);
      const double ns = std::clamp(ticks * slope, -4e18, 4e18);
      return from.monotonic + static_cast<std::int64_t>(ns + (ns < 0 ? -0.5 : 0.5));
    }
    clock_anchor from;
    double slope = 0;  ///< 0: there are not two anchors yet.
  };
  [[nodiscard]] std::int64_t to_monotonic_before(std::uint64_t tsc) const;
  void thin_out();
  std::vector<clock_anchor> anchors_;
  std::size_t thinned_ = 0;  ///< Anchors before this are a second apart.
  segment last_;
};

}  // namespace sluice::collector
