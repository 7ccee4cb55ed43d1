#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/gui/views/chart/chart_model.hpp"
#include "core/trace/model/model.hpp"

/// Lays out each block as its own shape: as wide as its lifetime, as high as its size in bytes, on top of the older
/// blocks.
namespace sluice::gui {

/// A block to be drawn.
struct shaped_block {
  trace::block_id block{};
  time_ns born = 0;
  time_ns died = 0;  ///< When the block was freed; at or after the end of the range if it is still live there.
  std::uint64_t bytes = 0;
  std::uint64_t group = 0;  ///< The key of the band (`memory_band::key`) to which the block belongs.
  ImU32 colour = 0;
};

/// The position of a block during one time interval. When an older block is freed, the blocks on top of it move down.
struct shape_piece {
  std::uint32_t block = 0;  ///< Index into `block_shapes::blocks`.
  time_ns begin = 0;
  time_ns end = 0;
  std::uint64_t offset = 0;  ///< Bytes of the blocks below it.
};

struct block_shapes {
  time_range range;
  std::vector<shaped_block> blocks;  ///< Sorted by time of allocation, oldest first.
  std::vector<shape_piece> pieces;
  std::uint64_t highest = 0;  ///< The highest total of bytes at any time.
  bool too_many = false;      ///< More than `piece_limit` pieces would be needed, so `pieces` is empty.

  static constexpr std::size_t block_limit = 2000;
  static constexpr std::size_t piece_limit = 60'000;
};

/// Lays out the blocks, which must be sorted by time of allocation. The range is divided into `columns` equal parts.
/// All moves within one part are combined into one, at the time of the last of them, or earlier where the pile would
/// otherwise become higher than it ever was. O(pieces).
[[nodiscard]] block_shapes lay_out(std::vector<shaped_block> blocks, time_range range, std::size_t columns);

/// The shapes as a series of a chart. Positions are ns since `shapes.range.begin`; items are positions in
/// `shapes.blocks`. O(pieces).
[[nodiscard]] chart_series make_shape_series(const block_shapes& shapes);

}  // namespace sluice::gui
