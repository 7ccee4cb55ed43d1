#pragma once

#include <cstdint>
#include <vector>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/memory_map/map_colours.hpp"
#include "app/gui/views/memory_map/map_viewport.hpp"

namespace sluice::gui {

/// The boxes of blocks and holes in the visible rows of the memory map, on the GPU.
class map_boxes {
 public:
  void draw(view_context& with, const map_viewport& viewport, const map_colours& colours);
  /// Discards the inputs of the boxes, so that the next `draw` rebuilds the boxes.
  void reset() { drawn_ = {}; }

 private:
  /// The inputs of the boxes on the GPU. When they change, the boxes are rebuilt.
  struct drawn_state {
    map_viewport::section visible;
    float scale = 0;
    theme_kind theme = theme_kind::dark;
    bool by_category = false;
    bool by_pool = false;
    friend bool operator==(const drawn_state&, const drawn_state&) = default;
  };
  void upload(const view_context& with, const map_viewport& viewport, const map_colours& colours);
  void add_line(const view_context& with, const map_viewport& viewport, const map_colours& colours, const map_row& row,
                std::int64_t line);

  draw::box_batch batch_;
  std::vector<draw::box> holes_;
  std::vector<draw::box> blocks_;
  drawn_state drawn_;
};

}  // namespace sluice::gui
