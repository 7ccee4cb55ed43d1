#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/gui/views/panel_parts.hpp"

/// Each block as a shape of its own: as wide as its life, as high as its bytes, on top of the blocks that are older.
namespace sluice::gui {

/// A block to be drawn.
struct shaped_block {
  trace::block_id block{};
  query::time_ns born = 0;
  query::time_ns died = 0;  ///< The end of the range or later if it lives on.
  std::uint64_t bytes = 0;
  std::uint64_t group = 0;  ///< The key of its band.
  ImU32 colour = 0;
};

/// Where a block lies for some time. When an older block is freed, those on top of it move down.
struct shape_piece {
  std::uint32_t block = 0;  ///< Position in `block_shapes::blocks`.
  query::time_ns begin = 0;
  query::time_ns end = 0;
  std::uint64_t offset = 0;  ///< Bytes below it.
};

struct block_shapes {
  query::time_range range;
  std::vector<shaped_block> blocks;  ///< Oldest first.
  std::vector<shape_piece> pieces;
  std::uint64_t highest = 0;  ///< The most bytes at any time.
  bool too_many = false;      ///< More than `piece_limit` pieces: there are none.

  static constexpr std::size_t block_limit = 2000;
  static constexpr std::size_t piece_limit = 60'000;
};

/// Lays out the blocks, which must be in order of birth. What moves within the same one of `columns` parts of the range
/// moves at once, at the last such moment, or earlier where the pile would be higher than it ever was. O(pieces).
[[nodiscard]] block_shapes lay_out(std::vector<shaped_block> blocks, query::time_range range, std::size_t columns);

/// Draws the shapes; `hovered` and `chosen` stand out. O(pieces).
void draw_shapes(const view_context& with, const time_chart& at, const block_shapes& all, trace::block_id hovered,
                 trace::block_id chosen);

/// The block under a point; null if there is none. O(pieces).
[[nodiscard]] const shaped_block* block_at(const time_chart& at, const block_shapes& all, ImVec2 point);

}  // namespace sluice::gui
