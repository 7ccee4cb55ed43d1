#include "instrumentation/runtime/pool_growth.hpp"

namespace sluice::runtime::pooling {

namespace {

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

// --- from another resource ---------------------------------------------------------------------------------

backend::outcome<segment> growth_from_upstream::grow(std::uint64_t bytes) {
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

}  // namespace sluice::runtime::pooling
