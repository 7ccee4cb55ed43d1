#pragma once

#include <string>
#include <vector>

#include "app/cli/check/check_output.hpp"
#include "core/base/error.hpp"

/// Judges a recording, for the verb and for `sluice mcp`.
namespace sluice::cli {

/// The conditions as texts, as the options of `sluice check` have them; an empty text: not judged.
struct check_wanted {
  std::string file;
  std::string max_peak, max_reserved, max_growth;  ///< Sizes: "20GiB".
  bool no_leaks = false;
  std::string max_pageable, max_idle;  ///< Shares: "5%".
  std::string baseline;                ///< Path of an older recording.
  std::string tolerance;               ///< Share; empty: 3 %.
  /// "warning", "error" or "note". Empty: "warning" if nothing else is asked for, else findings are not judged.
  std::string fail_on;
  std::vector<std::string> sources_from;
};

/// Opens the recordings and judges. Errors: invalid_argument (a size or share that is none), and those of
/// `open_recording`.
[[nodiscard]] result<checked_recording> check_recording(const check_wanted& wanted);

}  // namespace sluice::cli
