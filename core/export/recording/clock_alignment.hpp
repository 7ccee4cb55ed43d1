#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/trace/file/reader.hpp"

/// Estimates the differences between the clocks of recordings, so that their events can be put on one clock.
namespace sluice::exports {

/// Converts a recording's times to the first recording's clock.
struct clock_offset {
  enum class basis : std::uint8_t {
    none,        ///< The offset is unknown, so time 0 of both recordings is assumed to be the same moment.
    realtime,    ///< The offset is from CLOCK_REALTIME of both recordings. It is as exact as the machines' clocks.
    collectives  ///< The offset is from kernels that end at the same time on all ranks. `error` is its precision.
  };
  /// The time to add to the recording's times. If `drift` is not 0, this is exact only at `pivot`.
  trace::time_ns offset = 0;
  double drift = 0;  ///< How much the offset grows per ns after `pivot`, because clock rates differ. 1e-6 is 1 ppm.
  trace::time_ns pivot = 0;  ///< The time, on the recording's own clock, at which the offset is `offset`.
  basis from = basis::none;
  trace::time_ns corrected = 0;  ///< The correction of CLOCK_REALTIME's offset by collectives, at `pivot`.
  trace::time_ns error = 0;      ///< After the conversion, nine of ten collectives end closer together than this.
  std::uint64_t matched = 0;     ///< The number of collectives found in both recordings.

  /// Converts a time to the first recording's clock. The order of times does not change. `time` must have been clamped
  /// with `bounded` (time_range.hpp).
  [[nodiscard]] trace::time_ns moved(trace::time_ns time) const;
};

/// Identifies those collectives of a rank that have the same kernel name and run on the same stream.
struct collective_stream {
  std::string name;
  std::uint64_t stream = 0;
  friend bool operator<(const collective_stream& a, const collective_stream& b) {
    return std::tie(a.name, a.stream) < std::tie(b.name, b.stream);
  }
};

/// The end times of collectives, in ascending order.
using collective_ends = std::map<collective_stream, std::vector<trace::time_ns>>;

/// Returns the collectives of the first process of `recording` that has collectives, which are kernels that ranks run
/// together. Kernels named like those of NCCL or RCCL are collectives. O(kernels).
[[nodiscard]] result<collective_ends> find_collectives(const trace::snapshot& recording);

/// Returns CLOCK_REALTIME in ns at the recording's time 0, or 0 if unknown.
[[nodiscard]] std::int64_t realtime_at_zero(const trace::snapshot& recording);

/// Estimates how to convert times of `other` to the clock of `first`. The estimate is that of CLOCK_REALTIME.
/// Collectives correct it if at least 8 pairs with equal names end within half a second of each other on this clock.
/// With at least 16 pairs, also estimates the drift (Theil's incomplete method) and uses it if it reduces the remaining
/// differences by a quarter. Each rank may also be in groups without the other rank, and the collectives of these
/// groups have the same names. Therefore, only the streams whose collectives end closest together count. O(streams^2 +
/// collectives log collectives) for each name.
[[nodiscard]] clock_offset align(std::int64_t first_realtime, const collective_ends& first, std::int64_t other_realtime,
                                 const collective_ends& other);

}  // namespace sluice::exports
