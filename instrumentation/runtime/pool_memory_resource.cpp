#include "instrumentation/runtime/pool_memory_resource.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "instrumentation/runtime/device_state.hpp"
#include "instrumentation/runtime/layer_log.hpp"

namespace sluice::runtime {

namespace {

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

pool_memory_resource::pool_memory_resource(resource_ptr upstream, pool_options options)
    : memory_resource(upstream->device(), upstream->space()),
      upstream_(std::move(upstream)),
      options_(std::move(options)),
      trace_key_(device().state()->next_pool_key()) {
  layer_log::define_pool(device(), trace_key_, space(), options_.name);
  if (options_.initial_bytes != 0 && !grow(options_.initial_bytes)) {
    throw out_of_memory(
        {status::out_of_memory, 0, "pool_memory_resource",
         fmt::format("pool '{}' cannot reserve its initial {} bytes", options_.name, options_.initial_bytes)},
        options_.initial_bytes, 0, stats_locked());
  }
  device().state()->observe(this);
}

pool_memory_resource::~pool_memory_resource() {
  device().state()->forget(this);
  const std::lock_guard lock(mutex_);
  wait_for_streams();
  release(0, trace::pool_operation::shrink);
}

void pool_memory_resource::announce() noexcept {
  const std::lock_guard lock(mutex_);
  backend::device& d = device().backend();
  layer_log::define_pool(device(), trace_key_, space(), options_.name);
  for (const auto& [address, b] : books_.blocks()) {
    if (b.free) continue;
    layer_log::block record{trace::layer::pool, space(), d.trace_address(pointer(address)), b.requested, b.bytes};
    record.parent = d.trace_address(pointer(b.segment));
    record.pool = trace_key_;
    record.name = options_.name;
    record.born_before = true;
    layer_log::allocated(stream_ref(device()), record);
  }
  const auto totals = books_.stats();
  layer_log::pool_state(trace_key_, totals.reserved_bytes, totals.used_bytes, trace::pool_operation::sample);
}

// --- allocation --------------------------------------------------------------------------------------------

void* pool_memory_resource::do_allocate(const stream_ref& stream, std::size_t bytes) {
  layer_log::block record{trace::layer::pool, space(), 0, bytes, 0, 0, trace_key_, 0, false, options_.name};
  if (layer_log::on()) record.begin = layer_log::now();
  std::unique_lock lock(mutex_);
  const auto taken = take(stream, bytes);
  if (!taken) {
    const pool_stats held = stats_locked();
    lock.unlock();
    layer_log::failed(stream, record, static_cast<int>(status::out_of_memory));
    throw out_of_memory(
        {status::out_of_memory, 0, "pool_memory_resource::allocate",
         fmt::format("{} bytes from pool '{}' on {}: {} used of {} reserved{}, largest free block {}", bytes,
                     options_.name, device().name(), held.used, held.reserved,
                     held.limit != 0 ? fmt::format(" (limit {})", held.limit) : std::string(), held.largest_free)},
        bytes, stream.get(), held);
  }
  const auto totals = books_.stats();
  peak_used_ = std::max(peak_used_, totals.used_bytes);
  if (layer_log::on()) {
    backend::device& d = device().backend();
    record.address = d.trace_address(pointer(taken->address));
    record.reserved = taken->bytes;
    record.parent = d.trace_address(pointer(taken->segment));
    // Under the lock, so that no other thread's record of the same address can overtake this one.
    layer_log::allocated(stream, record);
    layer_log::pool_state(trace_key_, totals.reserved_bytes, totals.used_bytes, trace::pool_operation::sample);
  }
  return pointer(taken->address);
}

std::optional<backend::suballocator::block> pool_memory_resource::take(const stream_ref& stream, std::uint64_t bytes) {
  const std::uint64_t tag = stream.get();
  if (auto hit = books_.take(bytes, tag)) return hit;
  clean_idle_streams();
  if (auto hit = books_.take(bytes, tag)) return hit;
  if (grow(bytes)) return books_.take(bytes, tag);
  steal(stream);
  if (auto hit = books_.take(bytes, tag)) return hit;
  // Last resort: what is free but scattered over segments goes back, and a segment of the right size takes its place.
  wait_for_streams();
  release(0, trace::pool_operation::trim);
  if (grow(bytes)) return books_.take(bytes, tag);
  return std::nullopt;
}

void pool_memory_resource::clean_idle_streams() {
  for (const std::uint64_t tag : books_.tags()) {
    const auto idle = device().backend().stream_idle(backend::stream_handle{tag});
    if (idle && *idle) books_.retag(tag, books::clean);
  }
}

void pool_memory_resource::wait_for_streams() {
  for (const std::uint64_t tag : books_.tags()) {
    (void)device().backend().sync_stream(backend::stream_handle{tag});
    books_.retag(tag, books::clean);
  }
}

void pool_memory_resource::steal(const stream_ref& stream) {
  backend::device& d = device().backend();
  for (const std::uint64_t tag : books_.tags()) {
    if (tag == stream.get()) continue;
    // One event now covers every free on that stream so far.
    const auto event = d.create_event(false);
    if (!event) continue;
    if (d.record_event(*event, backend::stream_handle{tag}) && d.wait_event(stream.handle(), *event)) {
      books_.retag(tag, stream.get());
    }
    d.destroy_event(*event);
  }
}

bool pool_memory_resource::grow(std::uint64_t bytes) {
  const std::uint64_t reserved = books_.stats().reserved_bytes;
  const std::uint64_t least = books_.round_up(bytes);
  std::uint64_t size = std::max(least, books_.round_up(options_.growth_bytes));
  if (options_.limit_bytes != 0) {
    const std::uint64_t room = options_.limit_bytes > reserved ? options_.limit_bytes - reserved : 0;
    size = std::min(size, room / 512 * 512);
    if (size < least) return false;
  }
  void* segment = nullptr;
  for (;;) {
    try {
      segment = upstream_->allocate_sync(size);
      break;
    } catch (const error&) {
      if (size == least) return false;
      size = least;  // less than a full step is better than nothing
    }
  }
  books_.add_segment(number(segment), size);
  peak_reserved_ = std::max(peak_reserved_, reserved + size);
  layer_log::pool_state(trace_key_, reserved + size, books_.stats().used_bytes, trace::pool_operation::grow);
  return true;
}

// --- deallocation ------------------------------------------------------------------------------------------

void pool_memory_resource::do_deallocate(const stream_ref& stream, void* address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (layer_log::on()) {
    layer_log::freed(stream, {trace::layer::pool, space(), device().backend().trace_address(address), bytes, 0, 0,
                              trace_key_, layer_log::now(), false, options_.name});
  }
  books_.give(number(address), stream.get());
  if (layer_log::on()) {
    const auto totals = books_.stats();
    layer_log::pool_state(trace_key_, totals.reserved_bytes, totals.used_bytes, trace::pool_operation::sample);
  }
}

void pool_memory_resource::retire(backend::stream_handle stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto tag = static_cast<std::uint64_t>(stream);
  const auto tags = books_.tags();
  if (std::find(tags.begin(), tags.end(), tag) == tags.end()) return;
  (void)device().backend().sync_stream(stream);
  books_.retag(tag, books::clean);
}

std::uint64_t pool_memory_resource::release(std::uint64_t keep_bytes, trace::pool_operation operation) {
  std::uint64_t bytes = 0;
  for (const books::segment& s : books_.release(keep_bytes)) {
    upstream_->deallocate_sync(pointer(s.address), s.bytes);
    bytes += s.bytes;
  }
  if (bytes != 0) {
    const auto totals = books_.stats();
    layer_log::pool_state(trace_key_, totals.reserved_bytes, totals.used_bytes, operation);
  }
  return bytes;
}

std::uint64_t pool_memory_resource::trim(std::uint64_t keep_bytes) {
  const std::lock_guard lock(mutex_);
  wait_for_streams();
  return release(keep_bytes, trace::pool_operation::trim);
}

void pool_memory_resource::set_limit(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  options_.limit_bytes = bytes;
}

// --- statistics --------------------------------------------------------------------------------------------

pool_stats pool_memory_resource::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_locked();
}

pool_stats pool_memory_resource::stats_locked() const {
  const auto totals = books_.stats();
  pool_stats s;
  s.used = totals.used_bytes;
  s.requested = totals.requested_bytes;
  s.reserved = totals.reserved_bytes;
  s.peak_used = peak_used_;
  s.peak_reserved = peak_reserved_;
  s.largest_free = totals.largest_free_bytes;
  s.limit = options_.limit_bytes;
  s.used_blocks = totals.used_blocks;
  s.free_blocks = totals.free_blocks;
  s.segments = totals.segments;
  return s;
}

}  // namespace sluice::runtime
