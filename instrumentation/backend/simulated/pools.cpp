#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "instrumentation/backend/simulated/device.hpp"

// The driver's stream-ordered pools: the device's default pool, and those created by programs.

namespace sluice::backend {

namespace {

constexpr std::uint64_t segment_unit = 2u << 20;
constexpr std::uint64_t growth_bytes = 32u << 20;
constexpr std::int64_t sample_period = 20'000;  // ns; the capture library also samples real pools

}  // namespace

simulated_device::pool_map::iterator simulated_device::pool_at(pool_handle pool) {
  const auto it = pools_.find(pool == pool_handle::null ? default_pool : static_cast<std::uint64_t>(pool));
  return it == pools_.end() || it->second.destroyed ? pools_.end() : it;
}

const suballocator::block* simulated_device::pool_block(const void* address) const noexcept {
  for (const auto& [key, pool] : pools_) {
    auto it = pool.books.blocks().upper_bound(number(address));
    if (it == pool.books.blocks().begin()) continue;
    const suballocator::block& b = std::prev(it)->second;
    if (number(address) - b.address < b.bytes) return b.free ? nullptr : &b;
  }
  return nullptr;
}

// --- allocation --------------------------------------------------------------------------------------------

device_result<void*> simulated_device::allocate_async(std::uint64_t bytes, stream_handle stream) {
  entry e = enter("cuMemAllocAsync", config_.costs.allocate_async_call);
  return take_from_pool(e, default_pool, bytes, stream);
}

device_result<void*> simulated_device::allocate_from_pool(pool_handle pool, std::uint64_t bytes, stream_handle stream) {
  entry e = enter("cuMemAllocFromPoolAsync", config_.costs.allocate_async_call);
  const auto it = pool_at(pool);
  if (it == pools_.end()) {
    leave(e);
    return fail(status::invalid_value, "cuMemAllocFromPoolAsync", "no such pool", native_invalid);
  }
  return take_from_pool(e, it->first, bytes, stream);
}

device_result<void*> simulated_device::take_from_pool(entry& e, std::uint64_t key_of_pool, std::uint64_t bytes,
                                                      stream_handle stream) {
  pool_state& pool = pools_[key_of_pool];
  driver_log::alloc what{0, bytes, key(stream), key_of_pool, trace::memory_kind::device, 0};
  const stream_state* s = find(stream);
  if (!s || bytes == 0) {
    leave(e);
    return fail(status::invalid_value, e.call.name, bytes == 0 ? "zero bytes" : "no such stream", native_invalid);
  }
  if (auto allowed = permitted_on(stream, *s, e.call.name); !allowed) {
    leave(e);
    return tl::unexpected(std::move(allowed.error()));
  }
  if (s->capturing) return capture_allocation(e, stream, *s, bytes);
  const auto tag = static_cast<std::uint64_t>(stream);
  auto taken = pool.books.take(bytes, tag);
  if (!taken) {
    for (const std::uint64_t other : pool.books.tags()) {
      const stream_state* o = find(stream_handle{other});
      if (!o || tail_of(stream_handle{other}, *o) <= e.end) pool.books.retag(other, suballocator::clean);
    }
    taken = pool.books.take(bytes, tag);
  }
  if (!taken && grow_pool(e, key_of_pool, pool, bytes)) taken = pool.books.take(bytes, tag);
  const auto end = static_cast<std::uint64_t>(e.end);
  if (!taken) {
    log_.api_call(e.call, end, what.stream, bytes, 0, 0, native_out_of_memory);
    log_.failed(e.call, end, what, native_out_of_memory);
    const memory_info info = memory_now();
    leave(e);
    return fail(status::out_of_memory, e.call.name,
                fmt::format("{} bytes, {} of {} free{}", bytes, info.free_bytes, info.total_bytes,
                            pool.max_bytes != 0 ? fmt::format(", pool limited to {}", pool.max_bytes) : std::string()),
                native_out_of_memory);
  }
  pool.used_high = std::max(pool.used_high, pool.books.stats().used_bytes);
  void* address = reinterpret_cast<void*>(taken->address);
  what.address = memory_.name_of(address);
  log_.api_call(e.call, end, what.stream, bytes);
  log_.allocated(e.call, end, what);
  sample_pool(key_of_pool, pool, e.end);
  leave(e);
  return address;
}

device_result<void> simulated_device::free_async(void* address, stream_handle stream) {
  if (!address) return {};
  entry e = enter("cuMemFreeAsync", config_.costs.free_async_call);
  const auto tag = static_cast<std::uint64_t>(stream);
  const stream_state* s = find(stream);
  if (!s) {
    leave(e);
    return fail(status::invalid_value, "cuMemFreeAsync", "no such stream", native_invalid);
  }
  if (auto allowed = permitted_on(stream, *s, e.call.name); !allowed) {
    leave(e);
    return allowed;
  }
  if (s->capturing) return capture_free(e, stream, *s, address);
  if (auto memory = graph_memory_at(address); memory && memory->live) {
    log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream));
    set_live(*memory, false, std::max(e.end, tail_of(stream, *s)));
    memory.reset();
    leave(e);
    return {};
  }
  auto it = pools_.begin();
  while (it != pools_.end() && !it->second.books.give(number(address), tag)) ++it;
  if (it == pools_.end()) {
    leave(e);
    return fail(status::invalid_value, "cuMemFreeAsync", "the address was not allocated by cuMemAllocAsync",
                native_invalid);
  }
  const driver_log::alloc what{memory_.name_of(address), 0, key(stream), it->first, trace::memory_kind::device, 0};
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), what.stream);
  log_.freed(e.call, what);
  log_.free_completed(e.call, static_cast<std::uint64_t>(std::max(e.end, tail_of(stream, *s))), what.address,
                      what.pool);
  sample_pool(it->first, it->second, e.end);
  leave(e);
  return {};
}

bool simulated_device::grow_pool(entry& e, std::uint64_t key_of_pool, pool_state& pool, std::uint64_t bytes) {
  const std::uint64_t reserved = pool.books.stats().reserved_bytes;
  const auto rounded = [](std::uint64_t n) { return (n + segment_unit - 1) / segment_unit * segment_unit; };
  std::uint64_t size = rounded(std::max(bytes, growth_bytes));
  if (pool.max_bytes != 0) {
    size = std::min(size, (pool.max_bytes - std::min(pool.max_bytes, reserved)) / segment_unit * segment_unit);
  }
  if (size < bytes || size > memory_now().free_bytes) return false;
  void* segment = memory_.allocate(size, memory_space::device);
  if (!segment) return false;
  e.end += config_.costs.pool_growth;
  pool.books.add_segment(number(segment), size);
  pool.reserved_high = std::max(pool.reserved_high, reserved + size);
  log_pool(key_of_pool, pool, e.end, trace::pool_operation::grow);
  log_.memory(static_cast<std::uint64_t>(e.end), memory_now());
  return true;
}

// --- pools -------------------------------------------------------------------------------------------------

void simulated_device::log_pool(std::uint64_t key_of_pool, const pool_state& pool, std::int64_t now,
                                trace::pool_operation operation) const {
  const auto stats = pool.books.stats();
  log_.pool_state(static_cast<std::uint64_t>(now), key_of_pool, stats.reserved_bytes, stats.used_bytes, operation,
                  pool.threshold);
}

void simulated_device::sample_pool(std::uint64_t key_of_pool, pool_state& pool, std::int64_t now) {
  if (now - pool.last_sample < sample_period) return;
  pool.last_sample = now;
  log_pool(key_of_pool, pool, now, trace::pool_operation::sample);
}

void simulated_device::shrink_pool(std::uint64_t key_of_pool, pool_state& pool, std::int64_t now, std::uint64_t keep,
                                   trace::pool_operation operation) {
  for (const std::uint64_t tag : pool.books.tags()) {
    const stream_state* s = find(stream_handle{tag});
    if (!s || tail_of(stream_handle{tag}, *s) <= now) pool.books.retag(tag, suballocator::clean);
  }
  const auto released = pool.books.release(keep);
  for (const auto& segment : released) memory_.free(reinterpret_cast<void*>(segment.address));
  if (released.empty()) return;
  log_pool(key_of_pool, pool, now, operation);
  log_.memory(static_cast<std::uint64_t>(now), memory_now());
}

void simulated_device::trim_pools(std::int64_t now) {
  // A synchronization releases unused memory above the threshold, which is 0 unless it was set.
  for (auto it = pools_.begin(); it != pools_.end();) {
    pool_state& pool = it->second;
    shrink_pool(it->first, pool, now, pool.destroyed ? 0 : pool.threshold, trace::pool_operation::shrink);
    it = pool.destroyed && pool.books.stats().reserved_bytes == 0 ? pools_.erase(it) : std::next(it);
  }
}

device_result<pool_handle> simulated_device::create_pool(driver_pool_options options) {
  if (!config_.features.driver_pools)
    return fail(status::not_supported, "cuMemPoolCreate", "the device has no driver pools");
  entry e = wait("cuMemPoolCreate", config_.costs.pool_call);
  const std::uint64_t made = next_pool_++;
  pools_[made].max_bytes = options.max_bytes;
  log_.define_pool(e.call.begin, made, "memory pool");
  leave(e);
  return pool_handle{made};
}

device_result<void> simulated_device::destroy_pool(pool_handle pool) {
  entry e = wait("cuMemPoolDestroy", config_.costs.pool_call);
  const auto it = pool_at(pool);
  if (it == pools_.end() || it->first == default_pool) {
    leave(e);
    return fail(status::invalid_value, "cuMemPoolDestroy",
                pool == pool_handle::null ? "the device's default pool cannot be destroyed" : "no such pool",
                native_invalid);
  }
  it->second.destroyed = true;
  e.end = std::max(e.end, idle_at());
  run_until(e.end);
  trim_pools(e.end);
  leave(e);
  return {};
}

device_result<driver_pool_info> simulated_device::pool_info(pool_handle pool) {
  const std::lock_guard lock(mutex_);
  const auto it = pool_at(pool);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolGetAttribute", "no such pool", native_invalid);
  const auto stats = it->second.books.stats();
  return driver_pool_info{stats.reserved_bytes, stats.used_bytes, it->second.reserved_high, it->second.used_high,
                          it->second.threshold};
}

device_result<void> simulated_device::set_release_threshold(pool_handle pool, std::uint64_t bytes) {
  entry e = wait("cuMemPoolSetAttribute", config_.costs.pool_call);
  const auto it = pool_at(pool);
  if (it != pools_.end()) {
    it->second.threshold = bytes;
    log_pool(it->first, it->second, e.end, trace::pool_operation::sample);
  }
  leave(e);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolSetAttribute", "no such pool", native_invalid);
  return {};
}

device_result<void> simulated_device::reset_pool_highs(pool_handle pool) {
  const std::lock_guard lock(mutex_);
  const auto it = pool_at(pool);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolSetAttribute", "no such pool", native_invalid);
  const auto stats = it->second.books.stats();
  it->second.reserved_high = stats.reserved_bytes;
  it->second.used_high = stats.used_bytes;
  return {};
}

device_result<void> simulated_device::trim_pool(pool_handle pool, std::uint64_t keep_bytes) {
  entry e = wait("cuMemPoolTrimTo", config_.costs.pool_call);
  const auto it = pool_at(pool);
  if (it != pools_.end()) shrink_pool(it->first, it->second, e.end, keep_bytes, trace::pool_operation::trim);
  leave(e);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolTrimTo", "no such pool", native_invalid);
  return {};
}

}  // namespace sluice::backend
