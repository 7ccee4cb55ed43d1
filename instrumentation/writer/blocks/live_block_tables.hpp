#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/trace/model/model.hpp"
#include "instrumentation/writer/blocks/address_table.hpp"

namespace sluice::writer {

/// The live blocks of one process, in tables by layer and kind of memory, each sorted by address. Layers are ordered:
/// the driver is the lowest, and a block of a higher layer lies inside a block of a lower one. Not thread-safe.
class live_block_tables {
  using block_table = address_table<trace::alloc_event>;

 public:
  /// A reservation, its physical memory and its mapping may have the same address, so each of these kinds has a table
  /// of its own in each layer; all other kinds share one.
  static constexpr std::size_t tables_per_layer = 4;
  static constexpr std::size_t table_count = trace::layer_count * tables_per_layer;
  /// The number of the table for blocks of this layer and kind. Tables of lower layers have lower numbers.
  [[nodiscard]] static constexpr std::size_t table_number(trace::layer layer, trace::memory_kind kind) {
    std::size_t number = 0;
    if (kind == trace::memory_kind::reservation) number = reservations;
    if (kind == trace::memory_kind::physical) number = physical;
    if (kind == trace::memory_kind::mapping) number = mappings;
    return static_cast<std::size_t>(layer) * tables_per_layer + number;
  }
  [[nodiscard]] static constexpr std::size_t table_number(const trace::alloc_event& block) {
    return table_number(block.layer, block.kind);
  }

  /// The table and the slot in which a block is or would be. Becomes invalid when another address is located in this
  /// table.
  struct location {
    std::size_t table;
    block_table::spot spot;
  };
  [[nodiscard]] location locate(std::size_t table, std::uint64_t address) {
    return {table, tables_[table].locate(address)};
  }

  /// The block at a location, or the block of one table that begins at `address`; null if there is none. O(1).
  [[nodiscard]] const trace::alloc_event* find(const location& where) { return tables_[where.table].find(where.spot); }
  [[nodiscard]] const trace::alloc_event* find(std::size_t table, std::uint64_t address) const {
    return tables_[table].find(address);
  }

  /// Adds a block. The location must be free. O(1).
  void put(const location& where, const trace::alloc_event& block) {
    device_bytes_ += driver_bytes(block);
    block_table& blocks = tables_[where.table];
    if (blocks.empty()) set_occupied(occupied_ | bit_of_table(where.table));
    blocks.put(where.spot, block);
  }
  /// Removes `block`, which is at this location. O(1).
  void erase(const location& where, const trace::alloc_event& block) {
    device_bytes_ -= driver_bytes(block);
    block_table& blocks = tables_[where.table];
    blocks.erase(where.spot);
    if (blocks.empty()) set_occupied(occupied_ & ~bit_of_table(where.table));
  }
  void erase(const trace::alloc_event& block) { erase(locate(table_number(block), block.address), block); }

  /// The block of one table with the greatest address at or below `address`; null if there is none. O(log blocks).
  [[nodiscard]] const trace::alloc_event* at_or_below(std::size_t table, std::uint64_t address) const {
    return tables_[table].at_or_below(address);
  }
  /// The block of one table that contains `address`; null if there is none. O(log blocks).
  [[nodiscard]] const trace::alloc_event* containing(std::size_t table, std::uint64_t address) const {
    const trace::alloc_event* block = at_or_below(table, address);
    return block != nullptr && contains(*block, address) ? block : nullptr;
  }

  /// A block of the highest layer with blocks that begins at `address`; null if there is none. O(1).
  [[nodiscard]] const trace::alloc_event* beginning_at(std::uint64_t address) const {
    return address == 0 ? nullptr : highest_->find(address);
  }
  /// The block that contains `address`, in the highest layer with such a block; null if there is none. Ignores
  /// reservations and physical memory, because programs use the addresses of mappings. O(layers * log blocks).
  [[nodiscard]] const trace::alloc_event* innermost(std::uint64_t address) const {
    return address == 0 ? nullptr : innermost_in(occupied_, address);
  }
  /// Like `innermost`, but only in the layers below `layer`.
  [[nodiscard]] const trace::alloc_event* innermost_below(trace::layer layer, std::uint64_t address) const {
    return innermost_in(occupied_ & bits_below(layer), address);
  }
  /// Like `innermost`, but ignores blocks allocated after `time`, and arrays, whose address is a handle.
  [[nodiscard]] const trace::alloc_event* innermost_at(std::uint64_t address, trace::time_ns time) const;

  /// The segment that contains a new block: the innermost block of the layers below or, for a mapping of the driver,
  /// its reservation; none if there is no such block. `segment`: an address in that segment; if 0, the address of the
  /// new block is used.
  [[nodiscard]] trace::block_id parent(const trace::alloc_event& block, std::uint64_t segment) const;

  /// The number of blocks.
  [[nodiscard]] std::size_t size() const;
  /// Bytes of device memory allocated from the driver: plain blocks, and blocks of its pools. O(1).
  [[nodiscard]] std::uint64_t device_bytes() const { return device_bytes_; }

  /// Calls `visit(const trace::alloc_event&)` for each block, or for each block of one table, in order of address.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const block_table& blocks : tables_) blocks.for_each(visit);
  }
  template <class Visit>
  void for_each_in(std::size_t table, Visit&& visit) const {
    tables_[table].for_each(visit);
  }

  /// Frees the memory of empty tables.
  void shrink() {
    for (block_table& blocks : tables_) blocks.shrink_if_empty();
  }

 private:
  // Numbers of tables within a layer. The table of all other kinds has number 0.
  static constexpr std::size_t reservations = 1, physical = 2, mappings = 3;

  /// The tables to search for addresses that a program uses: two bits per layer; higher bits are searched first.
  using table_bits = std::uint32_t;
  static constexpr table_bits bit_of_table(std::size_t table) {
    const std::size_t number = table % tables_per_layer;
    if (number == reservations || number == physical) return 0;
    return table_bits{1} << (table / tables_per_layer * 2 + (number == 0 ? 1 : 0));
  }
  static constexpr table_bits bits_below(trace::layer layer) {
    return (table_bits{1} << (static_cast<std::size_t>(layer) * 2)) - 1;
  }
  static constexpr std::size_t highest_bit(table_bits bits) {
    return static_cast<std::size_t>(std::bit_width(bits)) - 1;
  }
  static constexpr std::size_t table_of_bit(std::size_t bit) {
    return bit / 2 * tables_per_layer + (bit % 2 == 1 ? 0 : mappings);
  }

  static bool contains(const trace::alloc_event& block, std::uint64_t address) {
    const std::uint64_t bytes = std::max<std::uint64_t>({block.bytes, block.reserved_bytes, 1});
    return address - block.address < bytes;
  }
  /// The bytes of `block` that count for `device_bytes`. A driver pool's blocks have no parent. Another pool's blocks
  /// are in a segment, which must not count twice.
  static std::uint64_t driver_bytes(const trace::alloc_event& block) {
    const bool device_memory = block.kind == trace::memory_kind::device || block.kind == trace::memory_kind::managed ||
                               block.kind == trace::memory_kind::physical;
    const bool by_driver = block.layer == trace::layer::driver ||
                           (block.layer == trace::layer::pool && block.parent == trace::block_id::none);
    return device_memory && by_driver && (block.flags & trace::ipc_import) == 0 ? block.bytes : 0;
  }

  [[nodiscard]] const trace::alloc_event* innermost_in(table_bits bits, std::uint64_t address) const;
  void set_occupied(table_bits bits) {
    occupied_ = bits;
    if (bits != 0) highest_ = &tables_[table_of_bit(highest_bit(bits))];
  }

  std::uint64_t device_bytes_ = 0;
  table_bits occupied_ = 0;  ///< The tables that have blocks.
  std::array<block_table, table_count> tables_;
  const block_table* highest_ = tables_.data();  ///< The highest layer's table with blocks, or any table.
};

}  // namespace sluice::writer
