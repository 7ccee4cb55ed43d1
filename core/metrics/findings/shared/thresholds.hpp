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
/// Events that occur fewer times than this belong to startup, shutdown or a transition, so their finding is a note.
inline constexpr std::uint64_t min_recurring = 4;
/// Events that occur in fewer eighths of a device's work than this belong to startup, shutdown or a transition, too.
inline constexpr std::uint64_t min_spread = 4;

/// Merges findings that are the same for several devices. Keeps the finding of the device with the largest saving, and
/// adds the names of the other devices. Savings are not added up, because devices work in parallel. O(findings * log
/// findings).
void join_devices(std::vector<finding>& findings, const trace::tables& tables);

/// Sets `finding::overlaps`: of findings with a part in common that both save time, or both save memory. `findings` are
/// in their final order. O(findings^2 * parts * log parts).
void find_overlaps(std::vector<finding>& findings);

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
