#pragma once

#include <cstdint>

#include "core/base/time/time_range.hpp"

/// How fast the host launches kernels while the device waits for each of them. Times are in ns.
namespace sluice::metrics {

/// Launch-bound work: kernels and copies that run one by one, each followed by a gap until the next launch arrives.
/// "`launches` launches at `period` us each against `work_per_launch` us of GPU work."
struct launch_rate {
  std::uint64_t launches = 0;   ///< Pieces of work that were followed by a launch-bound gap.
  time_ns idle = 0;             ///< Total length of these gaps.
  time_ns busy = 0;             ///< Time for which the device ran this work.
  std::uint64_t stretches = 0;  ///< Number of unbroken sequences of such work.
  /// Upper estimate of what CUDA graphs, or torch.compile, which merges kernels and can capture graphs, would save: the
  /// idle time of each stretch, minus what the stretch would cost as one graph: `graph_launch`, and `node_gap` for each
  /// of its pieces of work. Not counted: nodes that run beside each other, and kernels that become faster when merged.
  time_ns saved = 0;

  /// ns from one launch to the next; 0 without launches. The device waits for every one, so this is the host's time.
  [[nodiscard]] time_ns period() const { return launches == 0 ? 0 : (idle + busy) / static_cast<time_ns>(launches); }
  /// ns of device work for each launch; 0 without launches.
  [[nodiscard]] time_ns work_per_launch() const { return launches == 0 ? 0 : busy / static_cast<time_ns>(launches); }

  /// Time for each node of a graph: a graph of 1000 kernels that do nothing replays in 1.08 to 1.17 ms (measured),
  /// and the device idles for a part of it.
  static constexpr time_ns node_gap = 1'100;
  /// Time until the first node of a launched graph runs: twice the 5 us that a kernel launch takes.
  static constexpr time_ns graph_launch = 10'000;
};

/// Measures the launch rate of a device, gap by gap in order of time. The result does not depend on sections.
class launch_meter {
 public:
  /// Adds a gap. `launch`: how much of the gap is due to launches. `works`, `busy`: the number of pieces of work that
  /// began since the last gap, and the time for which the device was busy since then. A gap with another cause ends a
  /// stretch; a gap that is `queued` is the device's own and does not.
  void add(time_range gap, time_ns launch, bool queued, std::uint64_t works, time_ns busy);
  [[nodiscard]] launch_rate get_rate() const;

 private:
  void end_stretch();

  launch_rate ended_;    ///< All stretches that have ended.
  launch_rate current_;  ///< The current stretch; `saved` and `stretches` are not set.
};

}  // namespace sluice::metrics
