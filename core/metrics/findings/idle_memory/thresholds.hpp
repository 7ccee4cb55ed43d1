#pragma once

#include <cstdint>

/// Thresholds of the findings about memory that nothing needs. Private to core/metrics. A number without
/// another source was chosen, not measured: the programs with and without faults in tests/device/faults check it.
namespace sluice::metrics {

/// Segments of a pool without recorded blocks are reported if at least this share of them is never used again.
inline constexpr double much_cached = 0.25;
/// Memory that is idle between two uses for at least this share of the launches and copies is worth a warning. Shorter
/// idle intervals are normal in training.
inline constexpr double idle_for_long = 0.5;
/// A loop is assumed to recreate blocks if the number of blocks allocated is at least this many times the number of
/// live blocks.
inline constexpr std::uint64_t made_anew = 4;
/// If a loop recreates blocks, keeping them too long is worth a warning only if it costs at least this share of the
/// peak.
inline constexpr double warned_loop_share = 0.1;
/// A single block that is freed once its successor is allocated is worth a warning only if it costs at least this share
/// of the peak, because variables work that way.
inline constexpr double warned_variable_share = 0.25;

}  // namespace sluice::metrics
