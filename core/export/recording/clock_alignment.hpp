#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/trace/file/reader.hpp"

/// Measures the differences between the clocks of recordings.
namespace sluice::exports {

/// Converts a recording's times to the first recording's clock.
struct clock_offset {
  enum class basis : std::uint8_t {
    none,        ///< Unknown: time 0 of both recordings is taken to be the same.
    realtime,    ///< CLOCK_REALTIME of both recordings; as exact as the machines' clocks.
    collectives  ///< The ends of kernels that end together on all ranks; see `error`.
  };
  trace::time_ns offset = 0;  ///< Added to the recording's times. With a drift, exact only at `pivot`.
  double drift = 0;  ///< Growth of the offset per ns after `pivot`, because the clock rates differ. 1e-6 is 1 ppm.
  trace::time_ns pivot = 0;  ///< A time on the recording's own clock.
  basis from = basis::none;
  trace::time_ns corrected = 0;  ///< Correction by collectives relative to CLOCK_REALTIME, at `pivot`.
  trace::time_ns error = 0;      ///< After `offset`, nine of ten collectives end closer together than this.
  std::uint64_t matched = 0;     ///< Number of collectives found in both recordings.

  /// Converts a time to the first recording's clock. Monotonic. `time` must be clamped with `bounded` (time_range.hpp).
  [[nodiscard]] trace::time_ns moved(trace::time_ns time) const;
};

/// A rank's collectives of one kernel name on one stream.
struct collective_stream {
  std::string name;
  std::uint64_t stream = 0;
  friend bool operator<(const collective_stream& a, const collective_stream& b) {
    return std::tie(a.name, a.stream) < std::tie(b.name, b.stream);
  }
};

/// The ends of collectives, in order of time.
using collective_ends = std::map<collective_stream, std::vector<trace::time_ns>>;

/// The collectives of the first process of `from` that has any: kernels named as NCCL's or RCCL's are. O(kernels).
[[nodiscard]] result<collective_ends> find_collectives(const trace::snapshot& from);

/// CLOCK_REALTIME in ns at the recording's time 0; 0 if unknown.
[[nodiscard]] std::int64_t realtime_at_zero(const trace::snapshot& from);

/// Computes how far the clock of `other` is ahead of that of `first`: from CLOCK_REALTIME, corrected by collectives if at
/// least 8 pairs of equal names end within half a second by that clock. With 16 pairs or more also the drift (Theil's
/// incomplete method), if that lowers the remaining differences by a quarter. Both ranks may also be in groups without
/// each other, whose collectives have the same name: only streams count whose collectives end together most exactly.
/// O(streams^2 + collectives log collectives) for each name.
[[nodiscard]] clock_offset align(std::int64_t first_realtime, const collective_ends& first, std::int64_t other_realtime,
                                 const collective_ends& other);

}  // namespace sluice::exports
