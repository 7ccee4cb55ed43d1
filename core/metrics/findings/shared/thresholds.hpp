#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/metrics/report/report.hpp"

/// Thresholds that decide whether findings are reported and whether they are warnings. Private to core/metrics.
namespace sluice::metrics {

/// A finding that saves at least this share of the memory (`saving::share`) is major. Memory that a program holds at
/// its peak varies by up to this share between runs, because of workspaces and of the rounding of sizes.
inline constexpr double warned_memory_share = 0.03;
/// A finding that saves at least this share of the active time is major. Times of two runs differ by about as much.
inline constexpr double warned_time_share = 0.02;
/// At most this many findings are warnings because of their saving: as many as the window shows unfolded, and as a
/// reader takes in at once. Findings with an unknown saving, such as leaks and lost events, do not count.
inline constexpr std::size_t max_warnings = 5;

/// Idle time below this share of the active time is not reported.
inline constexpr double reported_idle_share = 0.005;
/// If the gaps that a line of host code causes are shorter than this on average (ns), their finding is a note.
inline constexpr time_ns short_host_gap = 1'000'000;
/// Matrix products in FP32 are reported if they take at least this share of a device's busy time.
inline constexpr double reported_products_share = 0.05;
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
/// A rank is named if the others wait for its late host for at least this share of the active time, although its
/// kernels take no longer. Less than `imbalanced` suffices, because these waits are one-sided and at least
/// `rank_metrics::late_host` long, so that they are not the jitter of hosts.
inline constexpr double awaited_host_share = 0.01;
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

/// Sorts findings, and decides which of them are major and which are warnings. This is the only place where this is
/// decided, and the kind of a finding does not matter:
///
/// 1. Errors come first, then warnings whose cost has no bound or is unknown (growing memory, lost events). All of them
///    are major.
/// 2. All others are ranked by `saving::share`, largest first, whether they save time or memory. Those that save at
/// least `warned_time_share` or `warned_memory_share` are major, and warnings unless `finding::only_note` is set, up to
/// the warning number `max_warnings`. The rest are notes.
///
/// So a finding never stands below another that saves a smaller share. O(findings * log findings).
void rank(std::vector<finding>& findings);

}  // namespace sluice::metrics
