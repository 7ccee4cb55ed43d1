#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/views/memory_map/memory_map_layout.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// A part of a row on the screen, and the item drawn there. If there is no item and `begin == end`: the segment's header.
struct map_spot {
  const query::address_segment* segment = nullptr;
  const query::address_item* item = nullptr;  ///< Null for a hole.
  std::uint64_t begin = 0;                    ///< First address of the part; `end` is one past the last.
  std::uint64_t end = 0;
};

/// The visible section of the memory map: the number of bytes per row, the rows that are visible, and their positions
/// on the screen. Also the user's choices for the layout: the order of segments, and folded groups.
class map_viewport {
 public:
  /// The inputs of everything that depends on the visible section.
  struct section {
    std::shared_ptr<const query::memory_map> map;
    std::uint64_t line_bytes = 0;
    std::int64_t first = 0;
    std::int64_t fits = 0;
    float width = 0;
    map_order order = map_order::address;
    std::size_t folded = 0;
    friend bool operator==(const section&, const section&) = default;
  };

  /// Shows everything again, from the top.
  void reset();
  /// Chooses the number of bytes per row so that everything is visible, now and whenever the map changes.
  void fit() { fitted_ = true, line_bytes_ = 0; }
  /// Multiplies the number of bytes per row by `factor` in the next frame, and keeps the segment in the middle there.
  void zoom(double factor) { zoom_wanted_ *= factor; }
  /// Multiplies the number of bytes per row now, and keeps the segment at the vertical position `y` there.
  void zoom_about(double factor, float y);
  void scroll(std::int64_t lines) { first_ += lines; }
  void scroll_pages(std::int64_t pages) { first_ += pages * fits_; }
  /// Scrolls to a block, unless the block's first row is visible.
  void scroll_to(const query::memory_map::place& block);
  void toggle_fold(const map_group_key& group);
  [[nodiscard]] bool folded(const map_group_key& group) const { return folded_.contains(group); }
  void draw_order_combo(const view_context& with);

  /// Sets the area of the rows, and their height. Returns false if the area is too small for any row.
  bool set_area(const view_context& with, const draw::rectangle& area, float row_height);
  /// Lays out a map in the area. Call once per frame.
  void lay_out(std::shared_ptr<const query::memory_map> map);
  /// Draws the scroll bar to the right of the area, and keeps the visible rows within the layout.
  void draw_scroll_bar(const view_context& with, float width);

  /// The map that is laid out; null if there is none yet.
  [[nodiscard]] const std::shared_ptr<const query::memory_map>& map() const { return map_; }
  [[nodiscard]] const map_layout& layout() const { return layout_; }
  [[nodiscard]] const draw::rectangle& area() const { return area_; }
  [[nodiscard]] float line_height() const { return line_height_; }
  [[nodiscard]] std::uint64_t line_bytes() const { return line_bytes_; }  ///< 0 until known.
  [[nodiscard]] std::int64_t first() const { return first_; }             ///< Number of the top row.
  [[nodiscard]] std::int64_t fits() const { return fits_; }               ///< Number of rows that fit into the area.
  /// One past the number of the last row that is at least partly visible.
  [[nodiscard]] std::int64_t end() const;
  [[nodiscard]] section visible() const;

  /// The horizontal position of an offset in a line.
  [[nodiscard]] float to_x(std::uint64_t offset) const;
  /// The horizontal position of an address of a segment on one of the segment's lines, which shows `on_line`.
  [[nodiscard]] float to_x(const map_row& row, const map_piece& on_line, std::uint64_t offset) const {
    return to_x(row.indent + (offset - on_line.begin));
  }
  /// The upper edge of a row.
  [[nodiscard]] float to_y(std::int64_t line) const {
    return area_.min.y + line_height_ * static_cast<float>(line - first_);
  }
  [[nodiscard]] const query::address_segment* find_segment(trace::block_id id) const;
  /// Where a byte of a segment is drawn (the vertical middle of its row); nullopt if the byte is not visible.
  [[nodiscard]] std::optional<ImVec2> find_byte(trace::block_id segment, std::uint64_t address) const;
  [[nodiscard]] std::optional<map_spot> spot_at(ImVec2 mouse) const;

 private:
  [[nodiscard]] std::optional<std::int64_t> find_line(const query::address_segment& segment,
                                                      std::uint64_t address) const;
  [[nodiscard]] map_spot find_item(const query::address_segment& segment, std::uint64_t address) const;

  std::shared_ptr<const query::memory_map> map_;
  map_order order_ = map_order::address;
  std::set<map_group_key> folded_;
  map_layout layout_;
  section laid_out_;  ///< The inputs of `layout_`.
  bool fitted_ = true;
  std::uint64_t line_bytes_ = 0;
  double zoom_wanted_ = 1;
  std::int64_t first_ = 0;
  std::int64_t fits_ = 1;
  draw::rectangle area_{};
  float line_height_ = 1;
};

}  // namespace sluice::gui
