#pragma once

#include <vector>

#include "app/gui/shell/application_options.hpp"
#include "app/gui/shell/programs/recorder_control.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/welcome/welcome.hpp"

namespace sluice::gui {

/// What the window shows while no document is ready: the welcome screen, or why there is nothing to see yet. Needs the
/// objects that it gets, which must outlive this object.
class start_screen {
 public:
  start_screen(const application_options& options, const settings& remembered, const recorder_control& recorder)
      : options_(options),
        settings_(remembered),
        recorder_(recorder),
        recordings_(find_recordings(options.recordings_folder)) {}

  void draw(view_context& with);
  /// True while the welcome screen is not complete.
  [[nodiscard]] bool reading() const { return welcome_.reading(); }

 private:
  const application_options& options_;
  const settings& settings_;
  const recorder_control& recorder_;
  welcome_view welcome_;
  std::vector<recording_entry> recordings_;
};

}  // namespace sluice::gui
