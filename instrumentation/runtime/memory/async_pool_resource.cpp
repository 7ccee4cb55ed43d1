#include "instrumentation/runtime/async_pool_resource.hpp"

#include <utility>

#include "instrumentation/runtime/memory/driver_pools.hpp"

namespace sluice::runtime {

async_pool_resource::async_pool_resource(const device_ref& device, async_pool_options options)
    : memory_resource(device, memory_space::device),
      pool_(value_or_throw(device.backend().create_pool({.max_bytes = options.max_bytes}))) {
  if (options.release_threshold == 0) return;
  if (auto set = device.backend().set_release_threshold(pool_, options.release_threshold); !set) {
    (void)device.backend().destroy_pool(pool_);
    throw error(std::move(set.error()));
  }
}

async_pool_resource::~async_pool_resource() { (void)device().backend().destroy_pool(pool_); }

async_pool_stats async_pool_resource::stats() const { return value_or_throw(device().backend().pool_info(pool_)); }

void async_pool_resource::reset_peaks() { value_or_throw(device().backend().reset_pool_highs(pool_)); }

void async_pool_resource::set_release_threshold(std::uint64_t bytes) {
  value_or_throw(device().backend().set_release_threshold(pool_, bytes));
}

std::uint64_t async_pool_resource::trim(std::uint64_t keep_bytes) {
  const std::uint64_t before = stats().reserved_bytes;
  value_or_throw(device().backend().trim_pool(pool_, keep_bytes));
  const std::uint64_t after = stats().reserved_bytes;
  return before > after ? before - after : 0;  // Another thread may have grown it meanwhile.
}

void* async_pool_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  return driver_pools::allocated(device(), stream, bytes,
                                 device().backend().allocate_from_pool(pool_, bytes, stream.handle()));
}

void async_pool_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t /*bytes*/) noexcept {
  driver_pools::free(device(), stream, address);
}

}  // namespace sluice::runtime
