#pragma once

/// `mebi`, one MiB in bytes: the unit in which findings state their thresholds. Private to core/figures.
namespace sluice::analysis {

inline constexpr double mebi = 1024.0 * 1024.0;

}  // namespace sluice::analysis
