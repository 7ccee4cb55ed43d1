#pragma once

#include <string>
#include <vector>

namespace sluice::gui {

/// A sample recording that comes with the program.
struct recording_entry {
  std::string path;
  std::string title;
  std::string shows;
};

/// Finds the recordings in `folder`; if `folder` is empty, in assets/recordings near the program. The folder's file
/// `index.txt` describes recordings, one per line: file name, tab, title, tab, description. These recordings come first in
/// the result, in the order of the lines; lines without a file are skipped.
[[nodiscard]] std::vector<recording_entry> find_recordings(const std::string& folder);

}  // namespace sluice::gui
