#include "instrumentation/backend/simulated/state/address_map.hpp"

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

memory_space address_map::space(const void* address) const noexcept {
  if (const auto* block = memory_.find(address)) return block->space;
  return host_.find_registered(address) ? memory_space::pinned : memory_space::pageable;
}

std::uint64_t address_map::name(const void* address) const noexcept {
  if (memory_.contains(address)) return memory_.get_name(address);
  const auto* range = host_.find_registered(address);
  return range ? range->name + (number(address) - range->address) : 0;
}

bool address_map::valid(const void* address, std::uint64_t bytes) const noexcept {
  return !memory_.contains(address) || memory_.whole(address, bytes);
}

bool address_map::reachable(const void* address, std::uint64_t bytes) const noexcept {
  if (memory_.contains(address)) return memory_.whole(address, bytes);
  const auto* range = host_.find_registered(address);
  return range && range->flags.mapped && bytes <= range->bytes - (number(address) - range->address);
}

pointer_info address_map::describe(const void* address, const suballocator::block* pool_block) const {
  pointer_info out;
  out.space = space(address);
  void* const here = const_cast<void*>(address);
  if (out.space != memory_space::device) out.host_address = here;
  if (out.space == memory_space::pageable) return out;
  out.device = static_cast<int>(ordinal_);
  out.managed = out.space == memory_space::managed;
  if (const auto* block = memory_.find(address)) {
    out.base = reinterpret_cast<void*>(block->address);
    out.bytes = block->bytes;
    out.flags = block->flags;
    if (block->mapping) {
      const auto [begin, bytes] = memory_.get_reservation(address, 0);
      out.base = reinterpret_cast<void*>(begin);
      out.bytes = bytes;
    } else if (pool_block) {
      out.base = reinterpret_cast<void*>(pool_block->address);
      out.bytes = pool_block->requested;
    }
  } else if (const auto* range = host_.find_registered(address)) {
    out.base = reinterpret_cast<void*>(range->address);
    out.bytes = range->bytes;
    out.flags = range->flags;
  }
  out.mapped = out.space == memory_space::pinned && out.flags.mapped;
  if (out.space != memory_space::pinned || out.mapped) out.device_address = here;
  return out;
}

}  // namespace sluice::backend::simulated
