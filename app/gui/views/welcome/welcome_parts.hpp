#pragma once

#include <string>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/welcome/bundled_recordings.hpp"
#include "app/gui/views/welcome/recent_table.hpp"
#include "app/recordings/overview.hpp"

/// The parts from which the welcome screen is made.
namespace sluice::gui {

/// Draws a thumbnail into `area`: memory as stacked areas, and below it a line of kernels and a line of copies.
void draw_thumbnail(const recordings::thumbnail& subject, const theme& colours, const draw::rectangle& area);

/// Begins a raised card of this size, with a title. Always call `end_card` afterwards.
void begin_card(const view_context& with, const char* title, ImVec2 size);
void end_card();
/// The height of a card with a title and `lines` rows of controls.
[[nodiscard]] float get_card_height(const view_context& with, float lines);

/// Draws a clickable card of a recording: a picture, a title, and up to two lines about it. Returns true if it was
/// clicked. `about`: null while the picture is being computed.
bool recording_card(const view_context& with, const recording_entry& each, const recordings::overview* about,
                    ImVec2 size);

/// Draws a row of the table of recent files. Returns true if it was clicked.
bool recent_line(const view_context& with, const recent_row& row, float width);

/// Draws a button behind the previous one, or on a new line that begins at `left` if it does not fit before `right`.
/// `first`: there is no previous one. `tip`: a tooltip; may be empty.
bool flowing_button(const view_context& with, const std::string& text, const std::string& tip, bool first, float left,
                    float right);

/// Draws a button in the accent colour: the one that most users want.
bool main_button(const view_context& with, const char* text);

}  // namespace sluice::gui
