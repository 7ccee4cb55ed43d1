#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/recordings/file_state.hpp"
#include "app/recordings/overview.hpp"

namespace sluice::cli::serve {

/// A recording in the list of `sluice serve FOLDER`. The texts may contain any bytes.
struct listed_recording {
  std::string address;  ///< Relative to the list's own address.
  std::string name;
  recordings::file_state file;
  std::shared_ptr<const recordings::overview> about;  ///< Null if it is not known, or not yet.
};

/// The recordings of one folder, or those named on the command line.
struct listed_folder {
  std::string path;  ///< Empty: no heading.
  std::vector<listed_recording> recordings;
};

/// Returns the page that lists recordings: for each, a picture, name, verdict, size and date. Escapes all texts, and
/// uses no scripts. `waiting`: some verdicts are still being computed, so the page loads itself again after a second.
/// `now`: in ns since 1970.
[[nodiscard]] std::string make_list_page(const std::vector<listed_folder>& folders, bool waiting, std::int64_t now);

}  // namespace sluice::cli::serve
