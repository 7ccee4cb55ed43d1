#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gui/views/memory_over_time/block_shapes.hpp"
#include "app/gui/views/timeline/track_row.hpp"

namespace sluice::gui {

/// A name in the areas of blocks.
struct block_label {
  time_range span;
  std::uint64_t low = 0;  ///< In bytes. The area covers [low, high] during all of `span`.
  std::uint64_t high = 0;
  index::category category = index::category::none;
  std::string text;
  friend bool operator==(const block_label&, const block_label&) = default;
};

/// Names the blocks of `shapes`: neighbors of the same category together, for as long as none of them moves. Leaves out
/// what has less than `least_bytes`, or does not stay for `least_time`; where two names would overlap, the larger area
/// is named. A block's `group` is its category. O(pieces).
[[nodiscard]] std::vector<block_label> name_blocks(const block_shapes& shapes, std::uint64_t least_bytes,
                                                   time_ns least_time);

/// The blocks of a device's memory, each as its own area, for views in which there are few. They pile up to the same
/// height as the areas of categories.
class block_areas {
 public:
  /// Asks for the blocks around the visible range. `memory`: a band of the areas that the blocks replace. Returns true
  /// if the blocks can be drawn in this frame; otherwise there are too many, or they are not known yet.
  bool follow(const view_context& with, query::engine& engine, const query::track& track, const query::band& memory,
              const row_frame& where);
  /// Draws the blocks, whose memory has `top` bytes at the top of `chart`.
  void draw(view_context& with, const row_frame& where, const draw::rectangle& chart, double top, ImDrawList& list);
  /// The block under the mouse; null if there is none. Valid until the next call of `follow`. O(pieces).
  [[nodiscard]] const query::block_row* find(const row_frame& where, const draw::rectangle& chart, double top) const;
  /// Shows a tooltip about a block that `find` returned.
  void tip(const view_context& with, const query::block_row& block) const;

  /// The most blocks around the view that are drawn.
  static constexpr std::size_t max_blocks = block_shapes::block_limit;

 private:
  void upload(const view_context& with, const draw::rectangle& chart, double top, const row_frame& where);

  screen_slot<query::blocks_query> query_;
  std::shared_ptr<const query::block_table> table_;
  block_shapes shapes_;
  std::vector<std::size_t> rows_;  ///< For each block of `shapes_`, its row in `table_`.
  std::vector<block_label> labels_;
  draw::box_batch batch_;
  double uploaded_top_ = 0;
  float uploaded_height_ = 0;
  double uploaded_zoom_ = 0;  ///< ns per pixel for which `labels_` were made.
  theme_kind theme_ = theme_kind::dark;
};

}  // namespace sluice::gui
