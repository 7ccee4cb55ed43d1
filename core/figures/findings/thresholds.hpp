#pragma once

#include <cstddef>

#include "core/figures/report.hpp"

/// What is worth reporting, and what is worth a warning. Private to core/figures.
namespace sluice::analysis {

inline constexpr double mebi = 1024.0 * 1024.0;  ///< One MiB in bytes: the unit of the thresholds.

/// A finding that saves at least this share of the peak or of the reserved bytes is a warning.
inline constexpr double warned_memory_share = 0.03;
/// A finding that saves at least this share of the active time is a warning.
inline constexpr double warned_time_share = 0.02;
/// If more findings than these save enough for a warning, the others become notes: those that save least. Findings whose
/// saving is not known, such as leaks and lost events, keep the severity with which they were added.
inline constexpr std::size_t most_warnings = 5;

/// Makes findings warnings or notes by what they save, and sorts: errors, warnings, notes; in each, those whose saving is
/// not known first, then those that save most. O(findings * log findings).
void rank(std::vector<finding>& findings);

}  // namespace sluice::analysis
