#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/settings.hpp"
#include "app/gui/shell/surroundings.hpp"
#include "app/gui/views/view.hpp"

namespace sluice::gui {

/// An entry of the Demo menu.
struct demo_entry {
  std::string name;
  std::string shows;  ///< What the demo shows, in one line.
};

/// A sample recording that comes with the program.
struct recording_entry {
  std::string path;
  std::string title;
  std::string shows;
};

/// The recordings in `folder`; if empty, in assets/recordings near the program. The file `index.txt` there describes
/// each recording: file name, tab, one line. Those come first, in its order.
[[nodiscard]] std::vector<recording_entry> find_recordings(const std::string& folder);

/// The start screen while no document is open.
class welcome_view {
 public:
  void draw(view_context& with, const settings& remembered, const std::vector<recording_entry>& recordings,
            const std::vector<demo_entry>& demos, const surroundings& around);
};

}  // namespace sluice::gui
