#pragma once

#include <string>
#include <vector>

#include "app/gui/shell/application_options.hpp"
#include "app/gui/shell/platform_services.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/welcome/bundled_recordings.hpp"
#include "app/gui/views/welcome/recent_table.hpp"
#include "app/recordings/overview_reader.hpp"

namespace sluice::gui {

/// The start screen, which is shown while no document is open.
class welcome_view {
 public:
  void draw(view_context& with, const settings& remembered, const std::vector<recording_entry>& recordings,
            const std::vector<demo_entry>& demos, const platform_services& around);
  /// True while pictures, or facts about recent files, are missing that will be drawn.
  [[nodiscard]] bool reading() const { return overviews_.reading() || (lists_files_ && recent_.reading()); }

 private:
  void draw_record_card(const view_context& with, const platform_services& around, ImVec2 size);
  void draw_open_card(const view_context& with, const settings& remembered, const std::vector<recent_row>& rows,
                      ImVec2 size);
  void draw_recordings(const view_context& with, const std::vector<recording_entry>& recordings, float left,
                       float width);

  std::string command_;  ///< The command line that the user types.
  recordings::overview_reader overviews_;
  recent_files recent_;
  bool lists_files_ = false;  ///< The recent files were listed in the last frame.
};

}  // namespace sluice::gui
