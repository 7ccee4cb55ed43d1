#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/summary/sections/store_blocks.hpp"

/// Blocks (pieces of memory, from allocation to free), column by column, so that sorting and filtering them reads only
/// the members that a query needs. Private to core/query.
namespace sluice::query {

/// A column: one member of each block, as in `metrics::listed_block`. Each value has 64 bits.
enum class list_column : std::uint8_t {
  block,
  alloc,
  process,
  device,
  stream,
  pool,
  name,
  stack,
  born,
  died,
  address,
  bytes,
  first_use,
  last_use,
  uses,
  traits  ///< See block_traits.
};
inline constexpr std::size_t list_columns = 16;
[[nodiscard]] constexpr std::size_t get_place(list_column column) { return static_cast<std::size_t>(column); }

/// Several attributes of a block packed into one value: layer, kind, category, and whether it counts as never freed.
namespace block_traits {
inline constexpr unsigned kind_at = 8, category_at = 16, reason_at = 24, unfreed_at = 32;
inline constexpr std::uint64_t mask = 0xff;
}  // namespace block_traits

/// The values of some blocks, by `list_column`. A column that has not been read is empty.
using block_values = std::array<std::vector<std::uint64_t>, list_columns>;

/// Reads one column of the blocks at `places` into `columns`, unless `columns` has it already. O(places).
void read_column(const summary::store_blocks& blocks, std::span<const std::uint32_t> places, list_column column,
                 block_values& columns);

/// Returns the block in row `row`. `columns` must have all columns.
[[nodiscard]] metrics::listed_block select_block(const block_values& columns, std::size_t row);

}  // namespace sluice::query
