#pragma once

#include <memory>
#include <optional>
#include <span>

#include "app/gui/views/memory_map/map_boxes.hpp"
#include "app/gui/views/memory_map/map_colours.hpp"
#include "app/gui/views/memory_map/map_tips.hpp"
#include "app/gui/views/memory_map/map_viewport.hpp"
#include "app/gui/views/parts/item_menu.hpp"

namespace sluice::gui {

/// Draws the rows of the memory map with headings, a ruler, labels and marks, and handles the mouse over the rows.
class memory_map_chart {
 public:
  void reset();
  /// Draws a map into the remaining space of the window.
  void draw(view_context& with, const std::shared_ptr<const query::memory_map>& map, const map_colours& colours);
  [[nodiscard]] map_viewport& viewport() { return viewport_; }
  [[nodiscard]] const map_viewport& viewport() const { return viewport_; }

 private:
  void draw_rows(view_context& with, const map_colours& colours);
  void draw_ruler(const view_context& with) const;
  void draw_heading(const view_context& with, const map_row& row, float y);
  void draw_header(const view_context& with, std::span<const map_row> rows, float y) const;
  void draw_labels(const view_context& with, const map_colours& colours) const;
  void draw_line_labels(const view_context& with, const map_colours& colours, const map_row& row,
                        std::int64_t line) const;
  void draw_marks(const view_context& with) const;
  void outline(const view_context& with, const query::memory_map::place& block, ImU32 colour) const;
  void scroll_to_marks(const view_context& with);
  void handle_mouse(const view_context& with);
  void turn_wheel();
  void hover(const view_context& with, const map_spot& at);
  void open_menu(const view_context& with, const map_spot& at);  ///< In memory_map_menu.cpp.

  map_viewport viewport_;
  map_boxes boxes_;
  map_tips tips_;
  item_menu menu_;
  selection revealed_;  ///< The selection to which the chart has already scrolled, if that selection is on the map.
  time_ns step_revealed_ = trace::unknown_time;
  float header_width_ = 0;  ///< Width of the segments' headers, which are to the left of the rows, in pixels.
};

}  // namespace sluice::gui
