#pragma once

#include <cstdint>

/// Thresholds of the findings about reserved memory. Private to core/metrics. A number without
/// another source was chosen, not measured: the programs with and without faults in tests/device/faults check it.
namespace sluice::metrics {

/// If one line makes fewer driver allocations, or frees, than this, they are not reported.
inline constexpr std::uint64_t min_driver_calls = 8;
/// Pools and caches that hold fewer bytes than this are skipped.
inline constexpr double min_reserved = 64.0 * 1024 * 1024;
/// A pool or cache holds too much if at most half of the memory is needed during this last share of its allocations and
/// frees.
inline constexpr double unused_at_last = 0.4;
/// Free memory counts as fragmented if its fragmentation (1 - largest hole / all holes) is at least this.
inline constexpr double fragmented = 0.5;
/// Fragmentation is reported only if the free memory is also at least this share of the allocator's segments at the
/// peak.
inline constexpr double much_free = 0.2;
inline constexpr double mostly_free = 0.5;  ///< From this share of free memory on, the finding is a warning.

}  // namespace sluice::metrics
