#pragma once

#include <cstddef>

#include "core/figures/report.hpp"

/// What is worth reporting, and what is worth a warning. Private to core/figures.
namespace sluice::analysis {

inline constexpr double mebi = 1024.0 * 1024.0;  ///< One MiB in bytes: the unit of the thresholds.

/// A finding is a warning if its saving is at least this share, ...
inline constexpr double warned_memory_share = 0.03;  ///< ... of the peak or of the reserved bytes, or
inline constexpr double warned_time_share = 0.02;    ///< ... of the active time.
/// Of more warnings, those that save least become notes. Errors and leaks do not count.
inline constexpr std::size_t most_warnings = 5;

/// True for findings that are warnings whatever they save: memory that grows until none is left, and recordings that are
/// not complete.
[[nodiscard]] constexpr bool warns_always(finding_kind kind) {
  return kind == finding_kind::memory_grows || kind == finding_kind::lost_events;
}

/// Sets the severity of findings that are no errors by what they save, and sorts: errors, warnings, notes, each by what
/// they save. O(findings * log findings).
void rank(std::vector<finding>& findings);

}  // namespace sluice::analysis
