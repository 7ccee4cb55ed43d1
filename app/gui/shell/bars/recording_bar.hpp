#pragma once

#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The width in pixels of what `draw_recording_bar` draws into the current window; 0 if no program runs.
[[nodiscard]] float recording_bar_width(const view_context& with, const recorder_process& recorder);

/// Draws the running program at the right end of the current line: its progress, and buttons for its output and to stop
/// it. Draws nothing if no program runs. `progress`: 0..1; negative if unknown.
void draw_recording_bar(const view_context& with, const recorder_process& recorder, double progress);

}  // namespace sluice::gui
