#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/gui/views/view.hpp"

/// The few things that several views draw the same way.
namespace sluice::gui {

/// One line, or two of them, in the middle of what is left of the window: why there is nothing to see.
void empty_state(const view_context& with, const char* icon, std::string_view headline, std::string_view advice);

/// "label      value" with the value right of `column`; the value wraps.
void field(const view_context& with, std::string_view label, std::string_view value, float column);

/// A tip at the mouse with room around its text; end it with end_tip(). Inside, `tip_field` does not wrap.
bool begin_tip(const view_context& with);
void end_tip();
void tip_field(const view_context& with, std::string_view label, std::string_view value, float column);

/// A heading inside a panel.
void heading(const view_context& with, std::string_view text);

/// Text that ends in an ellipsis when it is wider than `width`; the whole of it in a tip.
void clipped_text(std::string_view text, float width);

/// Text set right in the current table cell.
void right_text(std::string_view text, bool muted = false);

/// A button that runs a command; greyed when it cannot run. Its tip names its key. `label` null: the command's title.
bool command_button(const view_context& with, std::string_view id, const char* label = nullptr, bool icon_only = false);

/// A coloured square before a label: a legend's entry. Advances the cursor on the same line.
void swatch(const view_context& with, ImU32 colour, bool hatched = false);

/// Text that looks and acts like a link. True when clicked.
bool link(const view_context& with, std::string_view text);

/// A stack, innermost first: the program's own lines with their source, the others muted; the line that the stack is named
/// after is marked.
void stack_lines(const view_context& with, const std::vector<symbols::frame_line>& stack);

/// What names a line of a stack in little room: C++ names lose their namespaces and arguments.
[[nodiscard]] std::string short_name(const symbols::frame_line& line);

/// A thin line of progress at the top of the current window while an answer is not complete.
void progress_line(const view_context& with, bool complete, float progress);

/// The scroll bar of a table that scrolls by rows: a float could not address those of a long one by pixels. `fits`: rows that are
/// seen at once; moves `first`, the row on top. Draws nothing where all fit.
void row_scroll_bar(const view_context& with, ImVec2 at, ImVec2 size, std::int64_t rows, std::int64_t fits,
                    std::int64_t& first);

[[nodiscard]] const char* slice_kind_name(query::slice_kind kind);

}  // namespace sluice::gui
