#pragma once

#include <string>
#include <vector>

#include "app/cli/check/check_output.hpp"
#include "core/base/error.hpp"

/// Checks a recording, for `sluice check` and `sluice mcp`.
namespace sluice::cli {

/// The conditions, in the syntax of the options of `sluice check`. An empty text means that the condition is not
/// checked.
struct check_wanted {
  std::string file;
  std::string max_peak, max_reserved, max_growth;  ///< Sizes: "20GiB".
  bool no_leaks = false;
  std::string max_pageable, max_idle;  ///< Shares: "5%".
  std::string baseline;                ///< Path of the recording to compare with; empty: none.
  std::string tolerance;               ///< A share, such as "3%", for `baseline`; empty: 3 %.
  /// "warning", "error" or "note". If empty, findings are checked only if no other condition is set, as for "warning".
  std::string fail_on;
  std::vector<std::string> sources_from;
};

/// Opens the recordings and checks the conditions. Errors: invalid_argument (an invalid size or share), and those of
/// `open_recording`.
[[nodiscard]] result<checked_recording> check_recording(const check_wanted& wanted);

}  // namespace sluice::cli
