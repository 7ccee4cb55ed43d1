#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/verdict/changed_values.hpp"

/// What else differs between two runs: their commands, devices and how they were recorded.
namespace sluice::metrics {

/// A setting of both runs. A text is empty if the recording of that side does not have it.
struct setting_change {
  std::string what;           ///< "command line", "GPU", "processes".
  std::string before, after;  ///< For command lines of the same program, only the words that differ.
  bool differs = false;       ///< False if both are the same, or if one is not recorded.
};

/// Returns one line, such as "command line: --workers 0 -> --workers 4", "GPU: the same (NVIDIA H200)" or "driver: not
/// recorded".
[[nodiscard]] std::string describe(const setting_change& change);

/// Lists what the recordings say about the two runs, those that differ first. What neither recording can have, such as
/// environment variables and versions, is listed as not recorded. O(processes + devices).
[[nodiscard]] std::vector<setting_change> list_setting_changes(const named_report& before, const named_report& after);

}  // namespace sluice::metrics
