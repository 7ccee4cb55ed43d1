#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "app/gui/views/parts/view.hpp"
#include "app/gui/views/table/table_model.hpp"

struct ImGuiWindow;

/// The context menus of rows of tables, of boxes, bands and blocks, and of charts.
namespace sluice::gui {

/// Adds entries to an open menu: the actions on `target`; a command with its title and key; the actions on the panel.
/// The entries for a line of code are always present for events and blocks, but disabled until the line is known.
void target_entries(const view_context& with, const row_target& target);
void command_entry(const view_context& with, std::string_view id);
void panel_entries(const view_context& with);

/// Adds a context menu to the last item, a chart. Its entries copy or save the panel.
void panel_context_menu(const view_context& with);

/// The panel that contains the current window or the open menu.
[[nodiscard]] const ImGuiWindow* current_panel();

/// A selection that consists of an event of the active document; an empty selection for `event_id::none`.
[[nodiscard]] selection make_event_selection(const view_context& with, trace::event_id event);
[[nodiscard]] selection select_block(const view_context& with, trace::block_id block);

/// A menu about an object, which looks up the object's line of code.
class item_menu {
 public:
  /// Adds the actions on `target` to an open menu. Sets `target.line` for an event or block, once the line is known.
  void draw_entries(const view_context& with, row_target target);
  /// Opens a menu for something that is not an ImGui item. `text`: what the entry "Copy as text" copies. `more`: adds
  /// further entries. Call in the window that calls `draw_opened` in each frame.
  void open(row_target target, std::string name, std::string text, std::function<void(const view_context&)> more = {});
  void draw_opened(const view_context& with);
  [[nodiscard]] bool opened() const { return opened_; }

 private:
  void find_line(const view_context& with, row_target& target);

  screen_slot<query::details_query> details_;
  struct {
    row_target target;
    std::string name;
    std::string text;
    std::function<void(const view_context&)> more;
  } about_;
  bool opened_ = false;
};

}  // namespace sluice::gui
