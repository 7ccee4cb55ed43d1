#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/settings.hpp"
#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// A demo of the menu.
struct demo_entry {
  std::string name;
  std::string shows;  ///< One line: what it shows.
};

/// A recording that comes with the program.
struct recording_entry {
  std::string path;
  std::string title;
  std::string shows;
};

/// The recordings in `folder`, or in assets/recordings near the program when it is empty. `index.txt` there says what each
/// shows: a file's name, a tab, one line.
[[nodiscard]] std::vector<recording_entry> find_recordings(const std::string& folder);

/// What is shown while nothing is open: ways to begin.
class welcome_view {
 public:
  void draw(view_context& with, const settings& remembered, const std::vector<recording_entry>& recordings,
            const std::vector<demo_entry>& demos);
};

}  // namespace sluice::gui
