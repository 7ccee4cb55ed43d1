#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/metrics/report.hpp"

/// Thresholds that decide whether findings are reported and whether they are warnings. Private to core/metrics.
namespace sluice::metrics {

/// A finding that saves at least this share of the peak or of the reserved bytes is a warning.
inline constexpr double warned_memory_share = 0.03;
/// A finding that saves at least this share of the active time is a warning.
inline constexpr double warned_time_share = 0.02;
/// At most this many findings become warnings because of their saving. The findings that save the least become notes.
/// Findings with an unknown saving, such as leaks and lost events, keep their original severity.
inline constexpr std::size_t max_warnings = 5;

/// Idle time below this share of the active time is not reported.
inline constexpr double reported_idle_share = 0.005;
/// Events that occur fewer times than this belong to startup, shutdown or a transition, so their finding is a note.
inline constexpr std::uint64_t min_recurring = 4;
/// Events that occur in fewer eighths of a device's work than this belong to startup, shutdown or a transition, too.
inline constexpr std::uint64_t min_spread = 4;
/// If one line requests fewer small copies than this (below `copy_group::small_copy`), they are not reported.
inline constexpr std::uint64_t min_small_copies = 256;
/// If one line makes fewer driver allocations, or frees, than this, they are not reported.
inline constexpr std::uint64_t min_driver_calls = 8;
/// Pools and caches that hold fewer bytes than this are skipped.
inline constexpr double min_reserved = 64.0 * 1024 * 1024;
/// A pool or cache holds too much if at most half of the memory is needed during this last share of its allocations and
/// frees.
inline constexpr double unused_at_last = 0.4;
/// Segments of a pool without recorded blocks are reported if at least this share of them is never used again.
inline constexpr double much_cached = 0.25;
/// Free memory counts as fragmented if its fragmentation (1 - largest hole / all holes) is at least this.
inline constexpr double fragmented = 0.5;
/// Fragmentation is reported only if the free memory is also at least this share of the allocator's segments at the
/// peak.
inline constexpr double much_free = 0.2;
inline constexpr double mostly_free = 0.5;  ///< From this share of free memory on, the finding is a warning.
/// A rank is an outlier if its peak exceeds the median of the other ranks by this share of its peak.
inline constexpr double imbalanced = 0.1;

/// Memory that is idle between two uses for at least this share of the launches and copies is worth a warning. Shorter
/// idle intervals are normal in training.
inline constexpr double idle_for_long = 0.5;
/// Blocks that are added one after another count as growth if the additions continue for at least this share of the
/// launches and copies.
inline constexpr double grows_for = 0.4;
/// A loop is assumed to recreate blocks if the number of blocks allocated is at least this many times the number of
/// live blocks.
inline constexpr std::uint64_t made_anew = 4;
/// If a loop recreates blocks, keeping them too long is worth a warning only if it costs at least this share of the
/// peak.
inline constexpr double warned_loop_share = 0.1;
/// A single block that is freed once its successor is allocated is worth a warning only if it costs at least this share
/// of the peak, because variables work that way.
inline constexpr double warned_variable_share = 0.25;

/// Merges findings that are the same for several devices. Keeps the finding of the device with the largest saving, and
/// adds the names of the other devices. Savings are not added up, because devices work in parallel. O(findings * log
/// findings).
void join_devices(std::vector<finding>& findings, const trace::tables& tables);

/// Makes findings warnings or notes according to their saving, and sorts them. Errors come first, then warnings, then
/// notes. Within each group, findings with an unknown saving come first, then those with the largest savings.
/// O(findings * log findings).
void rank(std::vector<finding>& findings);

}  // namespace sluice::metrics
