#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"

/// How far apart the clocks of recordings are.
namespace sluice::exports {

/// What puts a recording's times on the first one's clock.
struct clock_offset {
  enum class basis : std::uint8_t {
    none,        ///< Nothing is known: its time 0 is taken to be the first one's.
    realtime,    ///< CLOCK_REALTIME of both, as good as the machines' clocks agree.
    collectives  ///< The ends of kernels that end together on all ranks; then `error` is what is left between them.
  };
  trace::time_ns offset = 0;  ///< To be added to its times; with a drift, exactly at `pivot`.
  double drift = 0;  ///< By how much more per ns after `pivot`: the clocks do not run at one rate. 1e-6 is 1 ppm.
  trace::time_ns pivot = 0;  ///< On its own clock.
  basis from = basis::none;
  trace::time_ns corrected = 0;  ///< What collectives added to CLOCK_REALTIME's word, at `pivot`.
  trace::time_ns error = 0;      ///< Nine of ten collectives are closer than this.
  std::uint64_t matched = 0;     ///< Collectives that both have.

  /// One of its times on the first one's clock. Never backwards; `time` must be bounded (time_range.hpp).
  [[nodiscard]] trace::time_ns moved(trace::time_ns time) const;
};

/// When collectives ended, by the name of their kernel, in order of time.
using collective_ends = std::map<std::string, std::vector<trace::time_ns>>;

/// Of the first process of `from` that has any; kernels whose names begin as NCCL's or RCCL's do. O(kernels).
[[nodiscard]] result<collective_ends> find_collectives(const trace::snapshot& from);

/// CLOCK_REALTIME ns at the recording's time 0; 0 if it is not known.
[[nodiscard]] std::int64_t realtime_at_zero(const trace::snapshot& from);

/// The offset of `other` against `first`. At least 8 collectives of equal names must be found within half a second of one another by
/// CLOCK_REALTIME; otherwise that alone counts. Of at least 16 also the drift, as the median slope between collectives that are half
/// of all apart (Theil's incomplete method), if a line leaves a quarter less error than the offset alone. O(collectives log collectives).
[[nodiscard]] clock_offset align(std::int64_t first_realtime, const collective_ends& first, std::int64_t other_realtime,
                                 const collective_ends& other);

}  // namespace sluice::exports
