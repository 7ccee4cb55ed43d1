#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/application_options.hpp"
#include "app/gui/shell/platform_services.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/welcome/thumbnail.hpp"

namespace sluice::gui {

/// A sample recording that comes with the program.
struct recording_entry {
  std::string path;
  std::string title;
  std::string shows;
};

/// Finds the recordings in `folder`; if `folder` is empty, in assets/recordings near the program. The folder's file
/// `index.txt` describes recordings, one per line: file name, tab, title, tab, description. These recordings come first in
/// the result, in the order of the lines.
[[nodiscard]] std::vector<recording_entry> find_recordings(const std::string& folder);

/// The start screen, which is shown while no document is open.
class welcome_view {
 public:
  void draw(view_context& with, const settings& remembered, const std::vector<recording_entry>& recordings,
            const std::vector<demo_entry>& demos, const platform_services& around);
  /// True while thumbnails are missing that will be drawn.
  [[nodiscard]] bool reading() const { return thumbnails_.reading(); }

 private:
  thumbnails thumbnails_;
};

}  // namespace sluice::gui
