#include "instrumentation/writer/blocks/block_ledger.hpp"

#include <optional>
#include <utility>

namespace sluice::writer {

using namespace trace;

// ------------------------------------------------------------------------------------------------------------- lookup

const alloc_event* block_ledger::find_in_driver(std::uint64_t address) const {
  for (const layer layer : {layer::driver, layer::pool}) {
    const std::size_t table = live_block_tables::table_number(layer, memory_kind::device);
    if (const alloc_event* block = live_.containing(table, address)) return block;
  }
  return nullptr;
}

const alloc_event* block_ledger::find_physical(std::uint64_t handle) const {
  return live_.find(live_block_tables::table_number(layer::driver, memory_kind::physical), handle);
}

block_id block_ledger::find_inside(std::uint64_t address) const {
  if (address == 0) return block_id::none;
  if (const alloc_event* block = live_.innermost(address)) return block->block;
  const freed_block* block = freed_.containing(address);
  return block != nullptr ? block->block : block_id::none;
}

block_id block_ledger::find_inside_at(std::uint64_t address, time_ns time) const {
  if (address == 0) return block_id::none;
  // Only a late record is older than a free. The freed block was inside the block that is live there now.
  if (const freed_block* block = freed_.containing_at(address, time)) return block->block;
  const alloc_event* block = live_.innermost_at(address, time);
  return block != nullptr ? block->block : block_id::none;
}

// --------------------------------------------------------------------------------------------------------- allocating

bool block_ledger::add(alloc_event& row, const block_ties& ties, const turn_clock& now, block_rows& rows) {
  const live_block_tables::location where = live_.locate(live_block_tables::table_number(row), row.address);
  if (const alloc_event* there = live_.find(where)) {
    if (ties.shared) {
      ++more_uses_[there->block];
      return false;
    }
    const bool same = (row.flags & born_before) != 0 && there->bytes == row.bytes;
    if (same) return false;  // Recorded twice: at the start of the recording, and by its own call.
    // The previous block's free was lost, or another thread has yet to write it.
    unmatched_.add_block(where.table, *there, row.time, now);
    freed_.add(*there, row.time);
    live_.erase(where, *there);
  }
  row.block = static_cast<block_id>(++last_block_);
  row.parent = live_.parent(row, ties.parent);
  row.id = rows.take_id();
  if (row.kind == memory_kind::mapping) physical_.add_mapping(row.block, ties.owner);
  if ((row.flags & graph_memory) != 0 && ties.owner != 0) graphs_.add(ties.owner, row.address);
  if (!unmatched_.has_frees() || !match_early_free(row, where.table, now, rows)) live_.put(where, row);
  return true;
}

/// Looks for a free that arrived before this allocation but has a later time.
bool block_ledger::match_early_free(const alloc_event& row, std::size_t table, const turn_clock& now,
                                    block_rows& rows) {
  std::optional<free_event> early = unmatched_.take_free(table, row);
  if (!early) return false;
  early->block = row.block;
  freed_.add(row, early->time);
  completions_.add(*early, now, rows);
  return true;
}

// ------------------------------------------------------------------------------------------------------------ freeing

/// The block to free, and its location. Null if there is none; `where` is then its hypothetical location.
const alloc_event* block_ledger::find_to_free(const free_request& request, live_block_tables::location& where) {
  if (const alloc_event* block = live_.find(where)) return block;
  if (request.kind != memory_kind::unknown) return nullptr;
  const auto find_in = [&](layer layer, memory_kind kind) -> const alloc_event* {
    const live_block_tables::location other =
        live_.locate(live_block_tables::table_number(layer, kind), request.row.address);
    const alloc_event* const block = live_.find(other);
    if (block != nullptr) where = other;
    return block;
  };
  // cuMemFree also accepts memory from cuMemAllocAsync, and vice versa.
  if (request.row.layer == layer::driver || request.row.layer == layer::pool) {
    const layer beside = request.row.layer == layer::driver ? layer::pool : layer::driver;
    if (const alloc_event* block = find_in(beside, memory_kind::device)) return block;
  }
  for (const memory_kind kind : {memory_kind::mapping, memory_kind::physical, memory_kind::reservation}) {
    if (const alloc_event* block = find_in(request.row.layer, kind)) return block;
  }
  return nullptr;
}

void block_ledger::remove(free_request& request, const turn_clock& now, block_rows& rows) {
  if (request.range != 0) remove_inside_range(request, now, rows);
  free_event& row = request.row;
  live_block_tables::location where =
      live_.locate(live_block_tables::table_number(row.layer, request.kind), row.address);
  const alloc_event* const block = find_to_free(request, where);
  if (block != nullptr && row.time >= block->time) {
    if (!more_uses_.empty() && end_one_use(block->block)) return;
    if (block->kind == memory_kind::physical && physical_.release(block->address)) return;
    if (block->kind == memory_kind::mapping) end_mapping(*block, row.time, rows);
    row.block = block->block;
    row.layer = block->layer;
    freed_.add(*block, row.time);
    live_.erase(where, *block);
    completions_.add(row, now, rows);
    return;
  }
  // The free is older than the current block: it belongs to the previous block at this address.
  if (const std::optional<block_id> previous = unmatched_.take_block(where.table, row)) {
    row.block = *previous;
    completions_.add(row, now, rows);
    return;
  }
  unmatched_.add_free(where.table, row, now);
}

/// Ends one use of the block. Returns true if other uses remain.
bool block_ledger::end_one_use(block_id block) {
  const auto uses = more_uses_.find(block);
  if (uses == more_uses_.end()) return false;
  if (--uses->second == 0) more_uses_.erase(uses);
  return true;
}

/// Frees the mappings that begin inside an unmapped range but after its first address, from the end down.
void block_ledger::remove_inside_range(free_request& request, const turn_clock& now, block_rows& rows) {
  const std::size_t mappings = live_block_tables::table_number(request.row.layer, memory_kind::mapping);
  const std::uint64_t first = request.row.address;
  std::uint64_t below = first + std::exchange(request.range, 0);
  while (below > first) {
    const alloc_event* mapping = live_.at_or_below(mappings, below - 1);
    if (mapping == nullptr || mapping->address <= first) return;
    free_request one = request;
    below = one.row.address = mapping->address;
    remove(one, now, rows);
  }
}

void block_ledger::complete(layer layer, std::uint64_t address, time_ns time, const turn_clock& now, block_rows& rows) {
  if (completions_.complete(layer, address, time, rows)) return;
  if (unmatched_.complete(layer, address, time, now)) return;
  completions_.complete_late(address, time, rows);
}

}  // namespace sluice::writer
