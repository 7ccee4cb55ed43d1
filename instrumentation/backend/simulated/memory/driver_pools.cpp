#include "instrumentation/backend/simulated/memory/driver_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

namespace {

constexpr std::uint64_t segment_unit = 2u << 20;
constexpr std::uint64_t growth_bytes = 32u << 20;
constexpr std::int64_t sample_period = 20'000;  // ns; the capture library also samples real pools

}  // namespace

driver_pools::pool_map::iterator driver_pools::find(pool_handle pool) {
  const auto it = pools_.find(pool == pool_handle::null ? default_pool : static_cast<std::uint64_t>(pool));
  return it == pools_.end() || it->second.destroyed ? pools_.end() : it;
}

const suballocator::block* driver_pools::find_block(const void* address) const noexcept {
  for (const auto& [key, pool] : pools_) {
    auto it = pool.books.blocks().upper_bound(number(address));
    if (it == pool.books.blocks().begin()) continue;
    const suballocator::block& b = std::prev(it)->second;
    if (number(address) - b.address < b.bytes) return b.free ? nullptr : &b;
  }
  return nullptr;
}

// --- allocation --------------------------------------------------------------------------------------------

device_result<void*> driver_pools::allocate_async(std::uint64_t bytes, stream_handle stream) {
  driver_call call = calls_.begin("cuMemAllocAsync", calls_.costs().allocate_async_call);
  return take(call, default_pool, bytes, stream);
}

device_result<void*> driver_pools::allocate_from_pool(pool_handle pool, std::uint64_t bytes, stream_handle stream) {
  driver_call call = calls_.begin("cuMemAllocFromPoolAsync", calls_.costs().allocate_async_call);
  const auto it = find(pool);
  if (it == pools_.end()) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemAllocFromPoolAsync", "no such pool", native_invalid);
  }
  return take(call, it->first, bytes, stream);
}

device_result<void*> driver_pools::take(driver_call& call, std::uint64_t key, std::uint64_t bytes,
                                        stream_handle stream) {
  pool_state& pool = pools_[key];
  driver_log::alloc record{0, bytes, streams_.key(stream), key, trace::memory_kind::device, 0};
  const stream_state* s = streams_.find(stream);
  if (!s || bytes == 0) {
    calls_.finish(call);
    return fail(status::invalid_value, call.name, bytes == 0 ? "zero bytes" : "no such stream", native_invalid);
  }
  if (auto allowed = captures_.permitted_on(stream, *s, call.name); !allowed) {
    calls_.finish(call);
    return tl::unexpected(std::move(allowed.error()));
  }
  if (s->capturing) return captures_.capture_allocation(call, stream, *s, bytes);
  const auto tag = static_cast<std::uint64_t>(stream);
  auto taken = pool.books.take(bytes, tag);
  if (!taken) {
    for (const std::uint64_t other : pool.books.tags()) {
      const stream_state* o = streams_.find(stream_handle{other});
      if (!o || streams_.tail(stream_handle{other}, *o) <= call.end) pool.books.retag(other, suballocator::clean);
    }
    taken = pool.books.take(bytes, tag);
  }
  if (!taken && grow(call, key, pool, bytes)) taken = pool.books.take(bytes, tag);
  const std::uint64_t end = call.recorded_end();
  if (!taken) {
    calls_.log().api_call(call, end, record.stream, bytes, 0, 0, native_out_of_memory);
    calls_.log().failed(call, end, record, native_out_of_memory);
    const memory_info info = budget_.info();
    calls_.finish(call);
    return fail(status::out_of_memory, call.name,
                fmt::format("{} bytes, {} of {} free{}", bytes, info.free_bytes, info.total_bytes,
                            pool.max_bytes != 0 ? fmt::format(", pool limited to {}", pool.max_bytes) : std::string()),
                native_out_of_memory);
  }
  pool.used_high = std::max(pool.used_high, pool.books.stats().used_bytes);
  void* address = reinterpret_cast<void*>(taken->address);
  record.address = memory_.get_name(address);
  calls_.log().api_call(call, end, record.stream, bytes);
  calls_.log().allocated(call, end, record);
  sample(key, pool, call.end);
  calls_.finish(call);
  return address;
}

device_result<void> driver_pools::free_async(void* address, stream_handle stream) {
  if (!address) return {};
  driver_call call = calls_.begin("cuMemFreeAsync", calls_.costs().free_async_call);
  const auto tag = static_cast<std::uint64_t>(stream);
  const stream_state* s = streams_.find(stream);
  if (!s) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemFreeAsync", "no such stream", native_invalid);
  }
  if (auto allowed = captures_.permitted_on(stream, *s, call.name); !allowed) {
    calls_.finish(call);
    return allowed;
  }
  if (s->capturing) return captures_.capture_free(call, stream, *s, address);
  if (auto memory = graph_memory_.find(address); memory && memory->live) {
    calls_.log().api_call(call, call.recorded_end(), streams_.key(stream));
    graph_memory_.set_live(*memory, false, std::max(call.end, streams_.tail(stream, *s)));
    memory.reset();
    calls_.finish(call);
    return {};
  }
  auto it = pools_.begin();
  while (it != pools_.end() && !it->second.books.give(number(address), tag)) ++it;
  if (it == pools_.end()) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemFreeAsync", "the address was not allocated by cuMemAllocAsync",
                native_invalid);
  }
  const driver_log::alloc record{memory_.get_name(address),  0, streams_.key(stream), it->first,
                                 trace::memory_kind::device, 0};
  calls_.log().api_call(call, call.recorded_end(), record.stream);
  calls_.log().freed(call, record);
  calls_.log().free_completed(call, static_cast<std::uint64_t>(std::max(call.end, streams_.tail(stream, *s))),
                              record.address, record.pool);
  sample(it->first, it->second, call.end);
  calls_.finish(call);
  return {};
}

bool driver_pools::grow(driver_call& call, std::uint64_t key, pool_state& pool, std::uint64_t bytes) {
  const std::uint64_t reserved = pool.books.stats().reserved_bytes;
  const auto rounded = [](std::uint64_t n) { return (n + segment_unit - 1) / segment_unit * segment_unit; };
  std::uint64_t size = rounded(std::max(bytes, growth_bytes));
  if (pool.max_bytes != 0) {
    size = std::min(size, (pool.max_bytes - std::min(pool.max_bytes, reserved)) / segment_unit * segment_unit);
  }
  if (size < bytes || size > budget_.info().free_bytes) return false;
  void* segment = memory_.allocate(size, memory_space::device);
  if (!segment) return false;
  call.end += calls_.costs().pool_growth;
  pool.books.add_segment(number(segment), size);
  budget_.take(size);
  pool.reserved_high = std::max(pool.reserved_high, reserved + size);
  log_state(key, pool, call.end, trace::pool_operation::grow);
  calls_.log().memory(call.recorded_end(), budget_.info());
  return true;
}

// --- pools -------------------------------------------------------------------------------------------------

void driver_pools::log_state(std::uint64_t key, const pool_state& pool, std::int64_t now,
                             trace::pool_operation operation) const {
  const auto stats = pool.books.stats();
  calls_.log().pool_state(static_cast<std::uint64_t>(now), key, stats.reserved_bytes, stats.used_bytes, operation,
                          pool.threshold);
}

void driver_pools::sample(std::uint64_t key, pool_state& pool, std::int64_t now) {
  if (now - pool.last_sample < sample_period) return;
  pool.last_sample = now;
  log_state(key, pool, now, trace::pool_operation::sample);
}

void driver_pools::shrink(std::uint64_t key, pool_state& pool, std::int64_t now, std::uint64_t keep,
                          trace::pool_operation operation) {
  for (const std::uint64_t tag : pool.books.tags()) {
    const stream_state* s = streams_.find(stream_handle{tag});
    if (!s || streams_.tail(stream_handle{tag}, *s) <= now) pool.books.retag(tag, suballocator::clean);
  }
  const auto released = pool.books.release(keep);
  for (const auto& segment : released) {
    memory_.free(reinterpret_cast<void*>(segment.address));
    budget_.give_back(segment.bytes);
  }
  if (released.empty()) return;
  log_state(key, pool, now, operation);
  calls_.log().memory(static_cast<std::uint64_t>(now), budget_.info());
}

void driver_pools::trim_all(std::int64_t now) {
  // A synchronization releases unused memory above the threshold, which is 0 unless it was set.
  for (auto it = pools_.begin(); it != pools_.end();) {
    pool_state& pool = it->second;
    shrink(it->first, pool, now, pool.destroyed ? 0 : pool.threshold, trace::pool_operation::shrink);
    it = pool.destroyed && pool.books.stats().reserved_bytes == 0 ? pools_.erase(it) : std::next(it);
  }
}

device_result<pool_handle> driver_pools::create_pool(driver_pool_options options) {
  if (!supported_) return fail(status::not_supported, "cuMemPoolCreate", "the device has no driver pools");
  driver_call call = calls_.begin_unrecorded("cuMemPoolCreate", calls_.costs().pool_call);
  const std::uint64_t created = next_pool_++;
  pools_[created].max_bytes = options.max_bytes;
  calls_.log().define_pool(call.begin, created, "memory pool");
  calls_.finish(call);
  return pool_handle{created};
}

device_result<void> driver_pools::destroy_pool(pool_handle pool) {
  driver_call call = calls_.begin_unrecorded("cuMemPoolDestroy", calls_.costs().pool_call);
  const auto it = find(pool);
  if (it == pools_.end() || it->first == default_pool) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemPoolDestroy",
                pool == pool_handle::null ? "the device's default pool cannot be destroyed" : "no such pool",
                native_invalid);
  }
  it->second.destroyed = true;
  call.end = std::max(call.end, streams_.idle_at());
  calls_.queue().run_until(call.end);
  trim_all(call.end);
  calls_.finish(call);
  return {};
}

device_result<driver_pool_info> driver_pools::pool_info(pool_handle pool) {
  const auto lock = calls_.lock();
  const auto it = find(pool);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolGetAttribute", "no such pool", native_invalid);
  const auto stats = it->second.books.stats();
  return driver_pool_info{stats.reserved_bytes, stats.used_bytes, it->second.reserved_high, it->second.used_high,
                          it->second.threshold};
}

device_result<void> driver_pools::set_release_threshold(pool_handle pool, std::uint64_t bytes) {
  driver_call call = calls_.begin_unrecorded("cuMemPoolSetAttribute", calls_.costs().pool_call);
  const auto it = find(pool);
  if (it != pools_.end()) {
    it->second.threshold = bytes;
    log_state(it->first, it->second, call.end, trace::pool_operation::sample);
  }
  calls_.finish(call);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolSetAttribute", "no such pool", native_invalid);
  return {};
}

device_result<void> driver_pools::reset_pool_highs(pool_handle pool) {
  const auto lock = calls_.lock();
  const auto it = find(pool);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolSetAttribute", "no such pool", native_invalid);
  const auto stats = it->second.books.stats();
  it->second.reserved_high = stats.reserved_bytes;
  it->second.used_high = stats.used_bytes;
  return {};
}

device_result<void> driver_pools::trim_pool(pool_handle pool, std::uint64_t keep_bytes) {
  driver_call call = calls_.begin_unrecorded("cuMemPoolTrimTo", calls_.costs().pool_call);
  const auto it = find(pool);
  if (it != pools_.end()) shrink(it->first, it->second, call.end, keep_bytes, trace::pool_operation::trim);
  calls_.finish(call);
  if (it == pools_.end()) return fail(status::invalid_value, "cuMemPoolTrimTo", "no such pool", native_invalid);
  return {};
}

void driver_pools::forget_stream(stream_handle stream) {
  for (auto& [key, pool] : pools_) pool.books.retag(static_cast<std::uint64_t>(stream), suballocator::clean);
}

void driver_pools::announce(std::uint64_t now) const {
  for (const auto& [key, pool] : pools_)
    calls_.log().define_pool(now, key, key == default_pool ? "driver pool" : "memory pool");
}

}  // namespace sluice::backend::simulated
