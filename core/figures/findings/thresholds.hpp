#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/figures/report.hpp"

/// What is worth reporting, and what is worth a warning. Private to core/figures.
namespace sluice::analysis {

/// A finding that saves at least this share of the peak or of the reserved bytes is a warning.
inline constexpr double warned_memory_share = 0.03;
/// A finding that saves at least this share of the active time is a warning.
inline constexpr double warned_time_share = 0.02;
/// If more findings than these save enough for a warning, the others become notes: those that save least. Findings whose
/// saving is not known, such as leaks and lost events, keep the severity with which they were added.
inline constexpr std::size_t most_warnings = 5;

/// Idle time below this share of the active time is not told at all.
inline constexpr double told_idle_share = 0.005;
/// What happens fewer times is part of starting, ending or changing over: a note.
inline constexpr std::uint64_t least_recurring = 4;
/// What happens in fewer eighths of a device's work is part of these, too.
inline constexpr std::uint64_t least_spread = 4;
/// Fewer small copies (below `copy_group::small_copy`) from one line are not told.
inline constexpr std::uint64_t least_small_copies = 256;
/// Fewer allocations, or frees, of the driver from one line are not told.
inline constexpr std::uint64_t least_driver_calls = 8;
/// Pools and caches that hold less are not judged, in bytes.
inline constexpr double least_reserved = 64.0 * 1024 * 1024;
/// A pool or cache holds too much if in this last share of its allocations and frees at most half of what it holds is needed.
inline constexpr double unused_at_last = 0.4;
/// Segments of a pool whose blocks are not recorded are told if this share of them is never used again.
inline constexpr double much_cached = 0.25;
/// Free memory is fragmented from this fragmentation on (1 - largest hole / all holes).
inline constexpr double fragmented = 0.5;
/// And if this share of the allocator's segments is free at the peak; it is a warning from the second share on.
inline constexpr double much_free = 0.2;
inline constexpr double mostly_free = 0.5;
/// A rank that needs this share of its peak more than the median of the others is an outlier.
inline constexpr double imbalanced = 0.1;

/// What lies idle between two uses for this share of the launches and copies is worth a warning; for less, that is how a
/// training works.
inline constexpr double idle_for_long = 0.5;
/// Blocks that are added one after another are growth if that goes on for this share of the launches and copies.
inline constexpr double grows_for = 0.4;
/// A loop makes blocks anew if it has made this many times the blocks that are live.
inline constexpr std::uint64_t made_anew = 4;
/// Such blocks are worth a warning if holding them too long costs this share of the peak.
inline constexpr double warned_loop_share = 0.1;
/// And a single one that is freed as soon as its successor is made if it costs this share: that is how variables work.
inline constexpr double warned_variable_share = 0.25;

/// Makes one finding of those that say the same of several devices: that of the device where most can be saved, which names
/// the others. What is saved is not added up, for devices work side by side. O(findings * log).
void join_devices(std::vector<finding>& findings, const trace::tables& tables);

/// Makes findings warnings or notes by what they save, and sorts: errors, warnings, notes; in each, those whose saving is
/// not known first, then those that save most. O(findings * log findings).
void rank(std::vector<finding>& findings);

}  // namespace sluice::analysis
