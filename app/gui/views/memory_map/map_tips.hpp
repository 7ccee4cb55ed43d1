#pragma once

#include "app/gui/views/memory_map/map_viewport.hpp"

namespace sluice::gui {

/// The tooltips of the memory map, for blocks, holes and segments.
class map_tips {
 public:
  void reset() { details_ = {}; }
  /// Draws the tooltip for a part of a row. `time`: the time of the map.
  void draw(const view_context& with, const map_spot& at, time_ns time);

 private:
  void draw_block(const view_context& with, const map_spot& at, time_ns time);
  /// Draws the line of code that allocated the block, once the line is known.
  void draw_allocating_line(const view_context& with, trace::block_id block, float column);

  screen_slot<query::details_query> details_;
};

}  // namespace sluice::gui
