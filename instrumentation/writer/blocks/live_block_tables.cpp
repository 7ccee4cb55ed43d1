#include "instrumentation/writer/blocks/live_block_tables.hpp"

namespace sluice::writer {

using namespace trace;

const alloc_event* live_block_tables::innermost_in(table_bits bits, std::uint64_t address) const {
  while (bits != 0) {
    const std::size_t bit = highest_bit(bits);
    bits ^= table_bits{1} << bit;
    if (const alloc_event* block = containing(table_of_bit(bit), address)) return block;
  }
  return nullptr;
}

const alloc_event* live_block_tables::innermost_at(std::uint64_t address, time_ns time) const {
  for (table_bits left = occupied_; left != 0;) {
    const std::size_t bit = highest_bit(left);
    left ^= table_bits{1} << bit;
    const alloc_event* block = containing(table_of_bit(bit), address);
    if (block != nullptr && block->time <= time && block->kind != memory_kind::array) return block;
  }
  return nullptr;
}

block_id live_block_tables::parent(const alloc_event& block, std::uint64_t segment) const {
  const std::uint64_t address = segment != 0 ? segment : block.address;
  const alloc_event* found = nullptr;
  if (block.layer != layer::driver) {
    found = innermost_below(block.layer, address);
  } else if (block.kind == memory_kind::mapping) {
    found = containing(table_number(layer::driver, memory_kind::reservation), address);
  }
  return found == nullptr ? block_id::none : found->block;
}

std::size_t live_block_tables::size() const {
  std::size_t count = 0;
  for (const block_table& blocks : tables_) count += blocks.size();
  return count;
}

}  // namespace sluice::writer
