#include "instrumentation/backend/simulated/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace sluice::backend::simulated {

namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }
std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace

address_space::address_space(std::uint64_t bytes) : free_(granule) {
  constexpr std::uint64_t least = 64u << 20;
  for (std::uint64_t size = bytes / granule * granule; size >= least; size = size / 2 / granule * granule) {
    void* base = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    base_ = number(base);
    bytes_ = size;
    free_.add_segment(base_, size);
    return;
  }
}

address_space::~address_space() {
  if (valid()) munmap(pointer(base_), bytes_);
}

void* address_space::allocate(std::uint64_t bytes, memory_space space) {
  const auto taken = free_.take(bytes, suballocator::clean);
  if (!taken) return nullptr;
  if (mprotect(pointer(taken->address), taken->bytes, PROT_READ | PROT_WRITE) != 0) {
    free_.give(taken->address, suballocator::clean);
    return nullptr;
  }
  blocks_[taken->address] = {taken->address, bytes, space};
  return pointer(taken->address);
}

bool address_space::free(void* address) {
  const auto it = blocks_.find(number(address));
  if (it == blocks_.end()) return false;
  blocks_.erase(it);
  const auto given = free_.give(number(address), suballocator::clean);
  // Mapping over it drops the pages and the permission in one call.
  (void)mmap(address, given->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return true;
}

const address_space::block* address_space::find(const void* address) const noexcept {
  auto it = blocks_.upper_bound(number(address));
  if (it == blocks_.begin()) return nullptr;
  --it;
  const std::uint64_t offset = number(address) - it->second.address;
  return offset < std::max<std::uint64_t>(it->second.bytes, 1) ? &it->second : nullptr;
}

bool address_space::contains(const void* address) const noexcept { return valid() && number(address) - base_ < bytes_; }

std::uint64_t address_space::name_of(const void* address) const noexcept {
  return contains(address) ? trace_base + (number(address) - base_) : 0;
}

}  // namespace sluice::backend::simulated
