#pragma once

/// The unit that findings give their thresholds in. Private to core/figures.
namespace sluice::analysis {

inline constexpr double mebi = 1024.0 * 1024.0;

}  // namespace sluice::analysis
