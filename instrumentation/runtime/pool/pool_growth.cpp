#include "instrumentation/runtime/pool/pool_growth.hpp"

#include <fmt/format.h>

#include <iterator>

namespace sluice::runtime::pooling {

namespace {

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

// --- from another resource ---------------------------------------------------------------------------------

growth_from_upstream::growth_from_upstream(resource_ptr upstream) : upstream_(std::move(upstream)) {
  const memory_resource* resource = upstream_.get();
  may_call_back_ = dynamic_cast<const device_memory_resource*>(resource) == nullptr &&
                   dynamic_cast<const pinned_memory_resource*>(resource) == nullptr &&
                   dynamic_cast<const managed_memory_resource*>(resource) == nullptr;
}

backend::device_result<segment> growth_from_upstream::grow(std::uint64_t bytes, std::uint64_t /*at*/) {
  try {
    void* address = upstream_->allocate_sync(bytes);
    return segment{number(address), bytes, upstream_->device().backend().trace_address(address), false};
  } catch (const error& refused) {
    return backend::fail(refused.code(), "pool growth", refused.what(), refused.native());
  }
}

void growth_from_upstream::shrink(const segment& s) noexcept {
  upstream_->deallocate_sync(pointer(s.address), s.bytes);
}

// --- mapped ------------------------------------------------------------------------------------------------

backend::device_result<std::unique_ptr<growth>> growth_by_mapping::open(const device_ref& device,
                                                                        std::uint64_t max_bytes) {
  backend::device& d = device.backend();
  if (!d.description().features.virtual_memory) {
    return backend::fail(status::not_supported, "growth_by_mapping", std::string(device.name()));
  }
  const auto step = d.virtual_granularity();
  if (!step) return tl::unexpected(step.error());
  // Freed segments leave holes of odd sizes. Spare addresses, which cost nothing, make up for them.
  const std::uint64_t bytes = (max_bytes + max_bytes / 4 + *step - 1) / *step * *step;
  const auto address = d.reserve_addresses(bytes, 0);
  if (!address) return tl::unexpected(address.error());
  return std::unique_ptr<growth>(new growth_by_mapping(device, number(*address), bytes, *step));
}

growth_by_mapping::~growth_by_mapping() {
  // Blocks that were never freed stay mapped; the addresses must then stay reserved.
  if (mapped_.empty()) (void)device_.backend().free_addresses(pointer(address_), bytes_);
}

std::uint64_t growth_by_mapping::next_address(std::uint64_t bytes) const noexcept {
  // The first hole that is large enough, from the lowest address, so that memory stays compact.
  std::uint64_t at = address_;
  for (const auto& [address, size] : mapped_) {
    if (address - at >= bytes) return at;
    at = address + size;
  }
  return at;
}

backend::device_result<segment> growth_by_mapping::grow(std::uint64_t bytes, std::uint64_t at) {
  backend::device& d = device_.backend();
  if (bytes > bytes_ || at + bytes > address_ + bytes_) {
    return backend::fail(status::out_of_memory, "pool growth",
                         fmt::format("{} bytes: the pool's address range is exhausted", bytes));
  }
  const auto physical = d.create_physical(bytes);
  if (!physical) return tl::unexpected(physical.error());
  const auto mapped = d.map(pointer(at), bytes, *physical);
  // From here on, only the mapping keeps the memory; if mapping failed, this frees it.
  (void)d.release_physical(*physical);
  if (!mapped) return tl::unexpected(mapped.error());
  try {
    mapped_.emplace(at, bytes);
  } catch (...) {
    (void)d.unmap(pointer(at), bytes);
    throw;
  }
  return segment{at, bytes, d.trace_address(pointer(at)), true};
}

void growth_by_mapping::shrink(const segment& s) noexcept {
  (void)device_.backend().unmap(pointer(s.address), s.bytes);
  mapped_.erase(s.address);
}

}  // namespace sluice::runtime::pooling
