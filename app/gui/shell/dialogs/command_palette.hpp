#pragma once

#include <string>
#include <vector>

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Finds commands by the text that the user types, and invokes the chosen one.
class command_palette {
 public:
  /// Adds the command that opens the palette. This object must outlive it.
  void add_commands(command_registry& commands);
  /// Draws the palette if it is open.
  void draw(const view_context& with);
  [[nodiscard]] bool is_open() const { return open_; }
  /// Returns true if the palette was open.
  [[nodiscard]] bool close();

 private:
  void open();
  /// Draws the commands. Returns the clicked command; null if none was clicked.
  [[nodiscard]] const command* draw_list(const view_context& with, const std::vector<const command*>& found);

  bool open_ = false;
  std::string text_;
  int choice_ = 0;            ///< Index of the current row.
  unsigned opened_over_ = 0;  ///< ImGui's id of the window that had the focus before the palette was opened.
};

}  // namespace sluice::gui
