#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "instrumentation/backend/simulated/device.hpp"

namespace sluice::backend {

namespace {

constexpr std::uint64_t device_page = 2u << 20;  // the driver allocates device memory in pages of 2 MiB
constexpr std::uint64_t small_block = 1u << 20;  // smaller requests share pages

std::uint64_t rounded_for_device(std::uint64_t bytes) {
  const std::uint64_t unit = bytes < small_block ? 512 : device_page;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::uint64_t simulated_device::device_bytes_used() const noexcept {
  std::uint64_t pools = 0;
  for (const auto& [key, pool] : pools_) pools += pool.books.stats().reserved_bytes;
  return config_.costs.context_bytes + device_bytes_ + managed_bytes_ + graph_bytes_ + pools;
}

memory_info simulated_device::memory_now() const noexcept {
  const std::uint64_t used = device_bytes_used();
  return {config_.memory_bytes > used ? config_.memory_bytes - used : 0, config_.memory_bytes};
}

device_result<memory_info> simulated_device::memory() {
  entry e = wait("cuMemGetInfo_v2", config_.costs.event_call);
  const memory_info info = memory_now();
  log_.memory(e.call.begin, info);
  leave(e);
  return info;
}

// --- blocks ------------------------------------------------------------------------------------------------

device_result<void*> simulated_device::allocate_block(entry& e, std::uint64_t bytes, memory_space space,
                                                      pinned_flags flags) {
  if (auto allowed = permitted_unsafe(e.call.name); !allowed) {
    leave(e);
    return tl::unexpected(std::move(allowed.error()));
  }
  const auto end = static_cast<std::uint64_t>(e.end);
  driver_log::alloc what{0, bytes, 0, 0, trace_kind(space), 0};
  const bool fits = space != memory_space::device || rounded_for_device(bytes) <= memory_now().free_bytes;
  void* address = bytes != 0 && fits ? memory_.allocate(bytes, space, flags) : nullptr;
  if (!address) {
    const int native = bytes == 0 ? native_invalid : native_out_of_memory;
    log_.api_call(e.call, end, 0, bytes, 0, 0, native);
    log_.failed(e.call, end, what, native);
    const memory_info info = memory_now();
    leave(e);
    return fail(bytes == 0 ? status::invalid_value : status::out_of_memory, e.call.name,
                bytes == 0 ? std::string("zero bytes")
                           : fmt::format("{} bytes, {} of {} free", bytes, info.free_bytes, info.total_bytes),
                native);
  }
  if (space == memory_space::device) device_bytes_ += rounded_for_device(bytes);
  what.address = memory_.name_of(address);
  log_.api_call(e.call, end, 0, bytes);
  log_.allocated(e.call, end, what);
  if (space != memory_space::pinned) log_.memory(end, memory_now());
  leave(e);
  return address;
}

device_result<void> simulated_device::free_block(entry& e, void* address, memory_space space) {
  if (auto allowed = permitted_unsafe(e.call.name); !allowed) {
    leave(e);
    return allowed;
  }
  const auto* block = memory_.find(address);
  if (!block || block->space != space || block->address != number(address) || block->mapping || block->imported ||
      graph_memory_at(address)) {
    leave(e);
    return fail(status::invalid_value, e.call.name, "the address is not the start of a block of this kind",
                native_invalid);
  }
  e.end = std::max(e.end, idle_at());  // the driver waits before it frees memory
  run_until(e.end);
  const auto end = static_cast<std::uint64_t>(e.end);
  const driver_log::alloc what{memory_.name_of(address), block->bytes, 0, 0, trace_kind(space), 0};
  log_.freed(e.call, what);
  log_.free_completed(e.call, end, what.address);
  if (space == memory_space::device) device_bytes_ -= rounded_for_device(block->bytes);
  if (space == memory_space::managed) {
    const managed_block& m = managed_[number(address)];
    for (const std::uint8_t w : m.where) {
      if (w & at_device) managed_bytes_ -= config_.costs.migration_piece;
    }
    managed_.erase(number(address));
  }
  memory_.free(address);
  log_.api_call(e.call, end, 0);
  if (space != memory_space::pinned) log_.memory(end, memory_now());
  leave(e);
  return {};
}

device_result<void*> simulated_device::allocate(std::uint64_t bytes) {
  entry e = enter("cuMemAlloc_v2", config_.costs.allocate_call);
  return allocate_block(e, bytes, memory_space::device, {});
}

device_result<void> simulated_device::free(void* address) {
  if (!address) return {};
  entry e = enter("cuMemFree_v2", config_.costs.free_call);
  // As in CUDA, one call frees both device and managed memory.
  const auto* block = memory_.find(address);
  return free_block(e, address,
                    block && block->space == memory_space::managed ? memory_space::managed : memory_space::device);
}

device_result<void*> simulated_device::allocate_pinned(std::uint64_t bytes, pinned_flags flags) {
  entry e = enter("cuMemHostAlloc", config_.costs.allocate_pinned_call);
  return allocate_block(e, bytes, memory_space::pinned, flags);
}

device_result<void> simulated_device::free_pinned(void* address) {
  if (!address) return {};
  entry e = enter("cuMemFreeHost", config_.costs.free_pinned_call);
  return free_block(e, address, memory_space::pinned);
}

// --- host memory -------------------------------------------------------------------------------------------

device_result<void> simulated_device::register_host(void* address, std::uint64_t bytes, registration_flags flags) {
  entry e = enter("cuMemHostRegister_v2", simulated::cost_model::duration(bytes, config_.costs.register_rate));
  const auto next = registered_.lower_bound(number(address));
  const bool overlaps =
      range_of(registered_, address) != nullptr || (next != registered_.end() && next->first - number(address) < bytes);
  if (!address || bytes == 0 || overlaps || memory_.contains(address)) {
    leave(e);
    return fail(status::invalid_value, "cuMemHostRegister",
                overlaps ? "already registered" : "not ordinary host memory", native_invalid);
  }
  // A real device also refuses this, with any flags (measured).
  if (const host_range* file = range_of(file_mappings_, address); file != nullptr && file->writable) {
    leave(e);
    return fail(status::invalid_value, "cuMemHostRegister", "a writable shared file mapping cannot be registered",
                native_invalid);
  }
  const std::uint64_t name = next_host_name_;
  next_host_name_ += (bytes + 0x1fffff) / 0x100000 * 0x100000;
  registered_[number(address)] = {bytes, name, {flags.portable, flags.mapped, false}};
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), 0, bytes);
  log_.allocated(e.call, static_cast<std::uint64_t>(e.end),
                 {name, bytes, 0, 0, trace::memory_kind::pinned, ring::flag_registered});
  leave(e);
  return {};
}

device_result<void> simulated_device::unregister_host(void* address) {
  entry e = enter("cuMemHostUnregister", config_.costs.free_pinned_call);
  const auto it = registered_.find(number(address));
  if (it == registered_.end()) {
    leave(e);
    return fail(status::invalid_value, "cuMemHostUnregister", "the address is not the start of a registered range",
                native_invalid);
  }
  e.end = std::max(e.end, idle_at());  // measured: if a kernel is running, the driver waits for its end
  const driver_log::alloc what{it->second.name, it->second.bytes, 0, 0, trace::memory_kind::pinned, 0};
  registered_.erase(it);
  log_.freed(e.call, what);
  log_.free_completed(e.call, static_cast<std::uint64_t>(e.end), what.address);
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), 0);
  leave(e);
  return {};
}

void simulated_device::note_file_mapping(const void* address, std::uint64_t bytes, bool writable) {
  const std::lock_guard lock(mutex_);
  file_mappings_[number(address)] = {bytes, 0, {}, writable};
}

void simulated_device::forget_file_mapping(const void* address) {
  const std::lock_guard lock(mutex_);
  file_mappings_.erase(number(address));
}

void simulated_device::host_spends(host_work work, std::uint64_t bytes) {
  const auto& c = config_.costs;
  double rate = c.copy_memory;
  switch (work) {
    case host_work::read_file:
      rate = c.read_file;
      break;
    case host_work::write_file:
      rate = c.write_file;
      break;
    case host_work::flush_file:
      rate = c.flush_file;
      break;
    case host_work::copy_memory:
      break;
  }
  clock_.spend(simulated::cost_model::duration(bytes, rate));
}

// --- queries about addresses -------------------------------------------------------------------------------

const simulated_device::host_range* simulated_device::range_of(const std::map<std::uint64_t, host_range>& ranges,
                                                               const void* address) const noexcept {
  const auto it = ranges.upper_bound(number(address));
  if (it == ranges.begin()) return nullptr;
  const auto& [begin, range] = *std::prev(it);
  return number(address) - begin < range.bytes ? &range : nullptr;
}

memory_space simulated_device::space_locked(const void* address) const noexcept {
  if (const auto* block = memory_.find(address)) return block->space;
  return range_of(registered_, address) ? memory_space::pinned : memory_space::pageable;
}

memory_space simulated_device::space_of(const void* address) noexcept {
  const std::lock_guard lock(mutex_);
  return space_locked(address);
}

std::uint64_t simulated_device::name_locked(const void* address) const noexcept {
  if (memory_.contains(address)) return memory_.name_of(address);
  const auto it = registered_.upper_bound(number(address));
  if (it == registered_.begin()) return 0;
  const auto& [begin, range] = *std::prev(it);
  return number(address) - begin < range.bytes ? range.name + (number(address) - begin) : 0;
}

std::uint64_t simulated_device::trace_address(const void* address) noexcept {
  const std::lock_guard lock(mutex_);
  return name_locked(address);
}

bool simulated_device::whole(const void* address, std::uint64_t bytes) const noexcept {
  return memory_.whole(address, bytes);
}

bool simulated_device::reachable(const void* address, std::uint64_t bytes) const noexcept {
  if (memory_.contains(address)) return whole(address, bytes);
  const auto it = registered_.upper_bound(number(address));
  if (it == registered_.begin()) return false;
  const auto& [begin, range] = *std::prev(it);
  const std::uint64_t offset = number(address) - begin;
  return range.flags.mapped && offset < range.bytes && bytes <= range.bytes - offset;
}

device_result<pointer_info> simulated_device::describe_pointer(const void* address) {
  const std::lock_guard lock(mutex_);
  pointer_info out;
  out.space = space_locked(address);
  void* const here = const_cast<void*>(address);
  if (out.space != memory_space::device) out.host_address = here;
  if (out.space == memory_space::pageable) return out;
  out.device = static_cast<int>(config_.ordinal);
  out.managed = out.space == memory_space::managed;
  if (const auto* block = memory_.find(address)) {
    out.base = reinterpret_cast<void*>(block->address);
    out.bytes = block->bytes;
    out.flags = block->flags;
    if (block->mapping) {
      const auto [begin, bytes] = memory_.reservation_of(address, 0);
      out.base = reinterpret_cast<void*>(begin);
      out.bytes = bytes;
    } else if (const auto* part = pool_block(address)) {
      out.base = reinterpret_cast<void*>(part->address);
      out.bytes = part->requested;
    }
  } else {
    const auto& [begin, range] = *std::prev(registered_.upper_bound(number(address)));
    out.base = reinterpret_cast<void*>(begin);
    out.bytes = range.bytes;
    out.flags = range.flags;
  }
  out.mapped = out.space == memory_space::pinned && out.flags.mapped;
  if (out.space != memory_space::pinned || out.mapped) out.device_address = here;
  return out;
}

device_result<void*> simulated_device::device_address_of(void* host_address) {
  const auto about = describe_pointer(host_address);
  if (about && about->mapped) return about->device_address;
  return fail(status::invalid_value, "cuMemHostGetDevicePointer",
              "expected pinned memory that was allocated or registered as mapped", native_invalid);
}

// --- managed memory ----------------------------------------------------------------------------------------

device_result<void*> simulated_device::allocate_managed(std::uint64_t bytes) {
  entry e = enter("cuMemAllocManaged", config_.costs.allocate_managed_call);
  auto address = allocate_block(e, bytes, memory_space::managed, {});
  if (!address) return address;
  const std::lock_guard lock(mutex_);
  managed_block& m = managed_[number(*address)];
  m.bytes = bytes;
  m.where.assign((bytes + config_.costs.migration_piece - 1) / config_.costs.migration_piece,
                 0);  // not resident until first touched
  return address;
}

device_result<void> simulated_device::prefetch(void* address, std::uint64_t bytes, memory_location to,
                                               stream_handle stream) {
  entry e = enter("cuMemPrefetchAsync_v2", config_.costs.prefetch_call);
  stream_state* s = find(stream);
  const auto* block = memory_.find(address);
  if (!s || !block || block->space != memory_space::managed || !whole(address, bytes)) {
    leave(e);
    return fail(status::invalid_value, "cuMemPrefetchAsync", "the range must be in one managed block", native_invalid);
  }
  const std::int64_t ready = std::max(e.end + config_.costs.enqueue_latency, tail_of(stream, *s));
  s->tail = migrate(address, bytes, !to.on_host, false, ready, config_.costs.prefetch_rate, 0,
                    trace::migration_cause::prefetch);
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream), bytes, name_locked(address));
  log_.memory(static_cast<std::uint64_t>(e.end), memory_now());
  leave(e);
  return {};
}

device_result<void> simulated_device::advise(void* address, std::uint64_t bytes, memory_advice advice,
                                             memory_location /*where*/) {
  entry e = enter("cuMemAdvise_v2", config_.costs.advise_call);
  const auto* block = memory_.find(address);
  if (!block || block->space != memory_space::managed || !whole(address, bytes)) {
    leave(e);
    return fail(status::invalid_value, "cuMemAdvise", "the range must be in one managed block", native_invalid);
  }
  // On this device, read-mostly applies to the whole block, and preferred locations have no effect.
  if (advice == memory_advice::set_read_mostly) managed_[block->address].read_mostly = true;
  if (advice == memory_advice::unset_read_mostly) managed_[block->address].read_mostly = false;
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), 0, bytes, name_locked(address));
  leave(e);
  return {};
}

void simulated_device::touch_on_host(void* address, std::uint64_t bytes) {
  entry e = wait("host touch", 0);
  const auto* block = memory_.find(address);
  if (block && block->space == memory_space::managed && whole(address, bytes)) {
    e.end = migrate(address, bytes, false, true, e.end, config_.costs.fault_rate_to_host, config_.costs.fault_latency,
                    trace::migration_cause::page_fault);
    log_.memory(static_cast<std::uint64_t>(e.end), memory_now());
  }
  leave(e);
}

std::int64_t simulated_device::migrate(const void* address, std::uint64_t bytes, bool to_device, bool written,
                                       std::int64_t ready, double rate, std::int64_t latency,
                                       trace::migration_cause cause) {
  const auto* block = memory_.find(address);
  managed_block& m = managed_[block->address];
  const std::uint64_t piece = config_.costs.migration_piece;
  const std::uint64_t offset = number(address) - block->address;
  const std::uint8_t here = to_device ? at_device : at_host;
  const std::uint8_t there = to_device ? at_host : at_device;
  simulated::timeline& link = to_device ? to_device_ : to_host_;
  for (std::uint64_t i = offset / piece; bytes != 0 && i <= (offset + bytes - 1) / piece; ++i) {
    std::uint8_t& where = m.where[i];
    const std::uint8_t before = where;
    if (!(before & here)) {
      if (to_device) evict_for(piece, block->address, ready);
      if (before & there) {
        const std::uint64_t size = std::min(piece, m.bytes - i * piece);
        const std::int64_t begin = link.book(ready + latency, simulated::cost_model::duration(size, rate));
        ready = begin + simulated::cost_model::duration(size, rate);
        log_.migrated(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(ready),
                      memory_.name_of(reinterpret_cast<const void*>(block->address + i * piece)), size,
                      to_device ? trace::direction::h2d : trace::direction::d2h, cause);
      }
    }
    // Read-mostly pages are copied instead of moved, until a write.
    where = m.read_mostly && !written ? static_cast<std::uint8_t>(before | here) : here;
    if ((where & at_device) && !(before & at_device)) managed_bytes_ += piece;
    if (!(where & at_device) && (before & at_device)) managed_bytes_ -= piece;
  }
  return ready;
}

void simulated_device::evict_for(std::uint64_t bytes, std::uint64_t keep_block, std::int64_t ready) {
  const std::uint64_t piece = config_.costs.migration_piece;
  for (auto& [address, m] : managed_) {
    if (address == keep_block) continue;
    for (std::size_t i = 0; i < m.where.size() && memory_now().free_bytes < bytes; ++i) {
      if (!(m.where[i] & at_device)) continue;
      m.where[i] = at_host;
      managed_bytes_ -= piece;
      const std::int64_t duration = simulated::cost_model::duration(piece, config_.costs.pinned_d2h);
      const std::int64_t begin = to_host_.book(ready, duration);
      log_.migrated(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(begin + duration),
                    memory_.name_of(reinterpret_cast<const void*>(address + i * piece)), piece, trace::direction::d2h,
                    trace::migration_cause::eviction);
    }
  }
}

}  // namespace sluice::backend
