#include "instrumentation/backend/simulated/state/address_space.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

address_space::address_space(std::uint64_t bytes) : free_(granule) {
  constexpr std::uint64_t least = 64u << 20;
  for (std::uint64_t size = bytes / granule * granule; size >= least; size = size / 2 / granule * granule) {
    void* base = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    mapped_ = base;
    mapped_bytes_ = size;
    // Alignment within the range must not depend on where the system placed it.
    constexpr std::uint64_t alignment = 2u << 20;
    base_ = (number(base) + alignment - 1) & ~(alignment - 1);
    bytes_ = size - (base_ - number(base));
    free_.add_segment(base_, bytes_);
    return;
  }
}

address_space::~address_space() {
  for (const auto& [address, file] : shared_) close(file);
  if (valid()) munmap(mapped_, mapped_bytes_);
}

void* address_space::allocate(std::uint64_t bytes, memory_space space, pinned_flags flags) {
  const auto taken = free_.take(bytes, suballocator::clean);
  if (!taken) return nullptr;
  if (mprotect(pointer(taken->address), taken->bytes, PROT_READ | PROT_WRITE) != 0) {
    free_.give(taken->address, suballocator::clean);
    return nullptr;
  }
  block added{taken->address, bytes, space};
  if (space == memory_space::pinned) added.flags = flags;
  blocks_[taken->address] = added;
  return pointer(taken->address);
}

bool address_space::free(void* address) {
  const auto it = blocks_.find(number(address));
  if (it == blocks_.end() || it->second.mapping) return false;
  blocks_.erase(it);
  if (const auto file = shared_.find(number(address)); file != shared_.end()) {
    close(file->second);
    shared_.erase(file);
  }
  const auto given = free_.give(number(address), suballocator::clean);
  // Mapping over it drops the pages and the access rights in one call.
  (void)mmap(address, given->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return true;
}

// --- reservations ------------------------------------------------------------------------------------------

void* address_space::reserve(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t slack = alignment > granule ? alignment - granule : 0;
  if (bytes + slack < bytes) return nullptr;
  const auto taken = free_.take(bytes + slack, suballocator::clean);
  if (!taken) return nullptr;
  const std::uint64_t address = (taken->address + slack) & ~(std::max(alignment, granule) - 1);
  reservations_[address] = {bytes, taken->address};
  return pointer(address);
}

bool address_space::unreserve(void* address) {
  const auto it = reservations_.find(number(address));
  if (it == reservations_.end()) return false;
  const auto mapped = blocks_.lower_bound(it->first);
  if (mapped != blocks_.end() && mapped->first < it->first + it->second.bytes) return false;
  free_.give(it->second.taken_at, suballocator::clean);
  reservations_.erase(it);
  return true;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> address_space::reservations() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  out.reserve(reservations_.size());
  for (const auto& [address, r] : reservations_) out.emplace_back(address, r.bytes);
  return out;
}

std::pair<std::uint64_t, std::uint64_t> address_space::get_reservation(const void* address,
                                                                       std::uint64_t bytes) const noexcept {
  auto it = reservations_.upper_bound(number(address));
  if (it == reservations_.begin()) return {};
  --it;
  const std::uint64_t offset = number(address) - it->first;
  if (offset >= it->second.bytes || bytes > it->second.bytes - offset) return {};
  return {it->first, it->second.bytes};
}

bool address_space::map(void* address, std::uint64_t bytes, int file, std::uint64_t offset) {
  void* at = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return false;
  block added{number(address), bytes, memory_space::device};
  added.mapping = true;
  blocks_[number(address)] = added;
  return true;
}

void address_space::unmap(void* address) {
  const auto it = blocks_.find(number(address));
  if (it == blocks_.end()) return;
  (void)mmap(address, it->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  blocks_.erase(it);
}

// --- blocks shared between processes -----------------------------------------------------------------------

int address_space::share(void* address) {
  const auto it = blocks_.find(number(address));
  if (it == blocks_.end() || it->second.mapping) return -1;
  if (const auto known = shared_.find(it->first); known != shared_.end()) return known->second;
  const std::uint64_t bytes = free_.round_up(it->second.bytes);
  const int file = memfd_create("sluice-shared", MFD_CLOEXEC);
  if (file < 0) return -1;
  // The bytes are copied to the file, which is then mapped at the same addresses.
  bool moved = ftruncate(file, static_cast<off_t>(bytes)) == 0;
  for (std::uint64_t at = 0; moved && at < bytes;) {
    const ssize_t wrote = pwrite(file, static_cast<const char*>(address) + at, bytes - at, static_cast<off_t>(at));
    moved = wrote > 0;
    if (moved) at += static_cast<std::uint64_t>(wrote);
  }
  if (!moved || mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    close(file);
    return -1;
  }
  shared_[it->first] = file;
  return file;
}

void* address_space::import(int file, std::uint64_t bytes) {
  const auto taken = free_.take(bytes, suballocator::clean);
  if (!taken) return nullptr;
  void* address = pointer(taken->address);
  if (mmap(address, taken->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    free_.give(taken->address, suballocator::clean);
    return nullptr;
  }
  block added{taken->address, bytes, memory_space::device};
  added.imported = true;
  blocks_[taken->address] = added;
  return address;
}

// --- queries about addresses -------------------------------------------------------------------------------

bool address_space::whole(const void* address, std::uint64_t bytes) const noexcept {
  const block* b = find(address);
  std::uint64_t at = number(address);
  while (b) {
    const std::uint64_t here = b->bytes - (at - b->address);
    if (bytes <= here) return true;
    if (!b->mapping) return false;
    bytes -= here;
    at = b->address + b->bytes;
    const auto next = blocks_.find(at);
    b = next != blocks_.end() && next->second.mapping ? &next->second : nullptr;
  }
  return false;
}

const address_space::block* address_space::find(const void* address) const noexcept {
  auto it = blocks_.upper_bound(number(address));
  if (it == blocks_.begin()) return nullptr;
  --it;
  const std::uint64_t offset = number(address) - it->second.address;
  return offset < std::max<std::uint64_t>(it->second.bytes, 1) ? &it->second : nullptr;
}

bool address_space::contains(const void* address) const noexcept { return valid() && number(address) - base_ < bytes_; }

std::uint64_t address_space::get_name(const void* address) const noexcept {
  return contains(address) ? trace_base + (number(address) - base_) : 0;
}

}  // namespace sluice::backend::simulated
