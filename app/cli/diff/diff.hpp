#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

/// The output of `sluice diff`.
namespace sluice::cli {

struct diff_wanted {
  std::vector<std::string> files;  ///< The earlier and the later recording, or one recording that is compared over two
                                   ///< ranges.
  std::string range;               ///< Range of the earlier recording, and of the later one unless `against` is set;
                                   ///< empty: all of it.
  std::string against;             ///< Range of the later recording; empty: same as `range`.
  std::vector<std::string> sources_from;
  bool json = false;
};

/// Compares two recordings, or two ranges of one recording, and returns the differences as text or JSON. Errors:
/// invalid_argument, and those of `open_recording`.
[[nodiscard]] result<std::string> difference_text(const diff_wanted& wanted);

}  // namespace sluice::cli
