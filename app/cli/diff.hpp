#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

/// What `sluice diff` prints.
namespace sluice::cli {

struct diff_wanted {
  std::vector<std::string> files;  ///< The recordings before and after, or one recording with two ranges.
  std::string range;               ///< Of the recording before, and of both without `against`; empty: all of it.
  std::string against;
  std::vector<std::string> sources_from;
  bool json = false;
};

/// Compares two recordings, or two ranges of one, and returns the differences as text or JSON. Errors:
/// invalid_argument, and those of `open_recording`.
[[nodiscard]] result<std::string> difference_text(const diff_wanted& wanted);

}  // namespace sluice::cli
