#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/views/view.hpp"
#include "core/symbols/attribution.hpp"

/// Small widgets shared by several views.
namespace sluice::gui {

class row_menu;

/// Centers a headline and advice, each line of it, in the rest of the window: explains why nothing is shown.
void empty_state(const view_context& with, const char* icon, std::string_view headline, std::string_view advice);

/// Draws "label      value", with the value to the right of `column`; the value wraps.
void field(const view_context& with, std::string_view label, std::string_view value, float column);

/// Begins a padded tooltip at the mouse; finish with end_tip(). Use `tip_field` inside; it does not wrap.
bool begin_tip(const view_context& with);
void end_tip();
void tip_field(const view_context& with, std::string_view label, std::string_view value, float column);

/// If the mouse rests on the last item: a tooltip that explains the term of that name (window/glossary.hpp). Nothing for
/// a name that is no term.
void glossary_tip(const view_context& with, std::string_view term);
/// The same, whatever the mouse rests on: for what is drawn without items. `title`: instead of the term's name.
void show_term(const view_context& with, std::string_view term, std::string_view title = {});

/// Before the `Begin` of a window that the user may move: it never ends outside of the whole window, also when that
/// shrinks, and scrolls inside instead.
void keep_on_screen(const view_context& with, const char* window);

/// Draws a heading inside a panel.
void heading(const view_context& with, std::string_view text);

/// Draws a heading that folds what follows. Returns true if that is to be drawn.
[[nodiscard]] bool section(const view_context& with, std::string_view text, bool open_at_first);

/// One line of a list of amounts: a bar that is `share` (0..1) of the width behind "312 MiB   28 %   text". Returns true
/// when clicked, without Ctrl and Shift, which select rows; the whole line is the link. `text` and, behind it, `detail` are cut off at the end of the line and then
/// have a tooltip.
bool amount_line(const view_context& with, std::string_view amount, double share, ImU32 colour, std::string_view text,
                 std::string_view detail = {});

/// Text cut off with an ellipsis if wider than `width`; a tooltip then shows all of it.
void clipped_text(std::string_view text, float width);

/// Right-aligned text in the current table cell.
void right_text(std::string_view text, bool muted = false);

/// A button for a command, disabled if the command is. Its tooltip shows the key. `label` null: the command's title.
bool command_button(const view_context& with, std::string_view id, const char* label = nullptr, bool icon_only = false);

/// A colored square for a legend entry; the label follows on the same line. `outlined`: pale with an outline, as what is
/// untracked or unknown.
void swatch(const view_context& with, ImU32 colour, bool outlined = false);

/// Text that looks and behaves like a link. Returns true when clicked.
bool link(const view_context& with, std::string_view text);

/// Draws a stack, innermost frame first: the program's own lines with their source, other lines muted. The line by
/// which the stack is named elsewhere is marked. `rows`: the lines are rows with menus; null in tooltips.
void stack_lines(const view_context& with, const std::vector<symbols::frame_line>& stack, row_menu* rows = nullptr);

/// A short name for a stack line: C++ names without namespaces and arguments.
[[nodiscard]] std::string short_name(const symbols::frame_line& line);

/// A thin progress bar at the top of the current window, while an answer is incomplete.
void progress_line(const view_context& with, bool complete, float progress);

/// The scroll bar of a table that scrolls by rows, because pixels of a long table exceed float precision. `fits`:
/// number of visible rows; updates `first`, the top row. Draws nothing if all rows fit.
void row_scroll_bar(const view_context& with, ImVec2 at, ImVec2 size, std::int64_t rows, std::int64_t fits,
                    std::int64_t& first);

[[nodiscard]] const char* slice_kind_name(query::slice_kind kind);

/// Puts the next control behind the last one, or on a new line if less than `width` is left there. `gap`: the space
/// between them; negative: that of the style.
void place_control(float width, float gap = -1);
/// A check box or a radio button with an outline that shows when it is off. Put `between_choices` before it, so that its
/// box does not seem to belong to the text of the choice before.
bool check_box(const view_context& with, const char* label, bool* on);
bool radio_button(const view_context& with, const char* label, bool on);
inline constexpr float between_choices = 16;  // design pixels

/// "by own line", "by module", ...
[[nodiscard]] const char* title_of(symbols::attribution by);

}  // namespace sluice::gui
