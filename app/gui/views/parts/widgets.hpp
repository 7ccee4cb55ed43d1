#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/views/parts/view.hpp"
#include "core/symbols/attribution.hpp"

/// Small widgets shared by several views.
namespace sluice::gui {

class view_tables;

/// Centers a headline and advice, which may have several lines, in the remaining space of the window, to explain why
/// the window is empty.
void empty_state(const view_context& with, const char* icon, std::string_view headline, std::string_view advice);

/// Draws "label      value". The value starts at `column`, and wraps if it is too long.
void field(const view_context& with, std::string_view label, std::string_view value, float column);

/// Begins a padded tooltip at the mouse. End it with `end_tip`. Inside the tooltip, use `tip_field`, which does not
/// wrap.
bool begin_tip(const view_context& with);
void end_tip();
void tip_field(const view_context& with, std::string_view label, std::string_view value, float column);

/// Adds a tooltip to the last item that explains the term with this name (window/glossary.hpp). Does nothing for names
/// that are not in the glossary.
void glossary_tip(const view_context& with, std::string_view term);
/// Shows the explanation of a term wherever the mouse is; for things that are not ImGui items. `title`: shown instead
/// of the term's name.
void show_term(const view_context& with, std::string_view term, std::string_view title = {});

/// Keeps a window that the user can move inside the main window, even if the main window shrinks; the window's content
/// then scrolls. Call before the `Begin` of the window.
void keep_on_screen(const view_context& with, const char* window);

/// Draws a heading inside a panel.
void heading(const view_context& with, std::string_view text);

/// Draws a heading that folds and unfolds the content below it. Returns true if the caller should draw the content.
[[nodiscard]] bool section(const view_context& with, std::string_view text, bool open_at_first);

/// Draws one line of a list of amounts: a bar whose width is `share` (0..1) of the line's, and "312 MiB   28 %   text"
/// over it. The whole line is a link: returns true if it was clicked without Ctrl or Shift, which select rows. `text`,
/// and `detail` after it, are cut off at the end of the line; a tooltip then shows them in full.
bool amount_line(const view_context& with, std::string_view amount, double share, ImU32 colour, std::string_view text,
                 std::string_view detail = {});

/// Draws text that is cut off with an ellipsis if it is wider than `width`; a tooltip then shows all of it.
void clipped_text(std::string_view text, float width);

/// Draws a button for a command. The button is disabled if the command is; its tooltip shows the command's key. If
/// `label` is null, shows the command's title.
bool command_button(const view_context& with, std::string_view id, const char* label = nullptr, bool icon_only = false);

/// Draws a colored square for a legend entry; the entry's label follows on the same line. `outlined`: draws a pale
/// square with an outline, for untracked or unknown values.
void swatch(const view_context& with, ImU32 colour, bool outlined = false);

/// Draws text that looks and behaves like a link. Returns true if it was clicked.
bool link(const view_context& with, std::string_view text);

/// Draws a call stack with the innermost frame first: the program's own lines with their source, and other lines muted.
/// Marks the line by which other panels name the stack. `tables`: makes each line a row with a menu; null in tooltips.
void stack_lines(const view_context& with, const std::vector<symbols::frame_line>& stack,
                 view_tables* tables = nullptr);

/// A short form of a stack line's name: C++ names without namespaces and arguments.
[[nodiscard]] std::string short_name(const symbols::frame_line& line);

/// Draws a thin progress bar at the top of the current window while a result is incomplete.
void progress_line(const view_context& with, bool complete, float progress);

/// Draws the scroll bar of a table that scrolls by rows, because a float is not precise enough to address the pixels of
/// a long table. `fits`: number of visible rows. Updates `first`, the number of the top row. Draws nothing if all rows
/// fit.
void row_scroll_bar(const view_context& with, ImVec2 at, ImVec2 size, std::int64_t rows, std::int64_t fits,
                    std::int64_t& first);

[[nodiscard]] const char* slice_kind_name(query::slice_kind kind);

/// Places the next control to the right of the last one, or on a new line if less than `width` is left. `gap`: the
/// space between the two; negative: that of ImGui's style.
void place_control(float width, float gap = -1);
/// A check box and a radio button with an outline that is visible when they are off. Leave a space of `between_choices`
/// before each, so that its box does not seem to belong to the text on its left.
bool check_box(const view_context& with, const char* label, bool* on);
bool radio_button(const view_context& with, const char* label, bool on);
inline constexpr float between_choices = 16;  // design pixels

/// The name of an attribution in the window: "your code line", "module", ...
[[nodiscard]] const char* get_title(symbols::attribution by);

}  // namespace sluice::gui
