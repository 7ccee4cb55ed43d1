#include "instrumentation/backend/simulated/memory/managed_memory.hpp"

#include <algorithm>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

const address_space::block* managed_memory::find(const void* address, std::uint64_t bytes) const noexcept {
  const auto* block = memory_.find(address);
  return block && block->space == memory_space::managed && memory_.whole(address, bytes) ? block : nullptr;
}

void managed_memory::add(const void* address, std::uint64_t bytes) {
  const auto lock = calls_.lock();
  managed_block& added = blocks_[number(address)];
  added.bytes = bytes;
  added.where.assign((bytes + calls_.costs().migration_piece - 1) / calls_.costs().migration_piece, 0);
}

void managed_memory::remove(const void* address) {
  const auto it = blocks_.find(number(address));
  if (it == blocks_.end()) return;
  for (const std::uint8_t where : it->second.where) {
    if (where & at_device) budget_.give_back(calls_.costs().migration_piece);
  }
  blocks_.erase(it);
}

// --- calls -------------------------------------------------------------------------------------------------

device_result<void> managed_memory::prefetch(void* address, std::uint64_t bytes, memory_location to,
                                             stream_handle stream) {
  driver_call call = calls_.begin("cuMemPrefetchAsync_v2", calls_.costs().prefetch_call);
  stream_state* s = streams_.find(stream);
  if (!s || !find(address, bytes)) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemPrefetchAsync", "the range must be in one managed block", native_invalid);
  }
  const std::int64_t ready = std::max(call.end + calls_.costs().enqueue_latency, streams_.tail(stream, *s));
  s->tail = migrate(address, bytes, !to.on_host, false, ready, calls_.costs().prefetch_rate, 0,
                    trace::migration_cause::prefetch);
  calls_.log().api_call(call, call.recorded_end(), streams_.key(stream), bytes, addresses_.name(address));
  calls_.log().memory(call.recorded_end(), budget_.info());
  calls_.finish(call);
  return {};
}

device_result<void> managed_memory::advise(void* address, std::uint64_t bytes, memory_advice advice) {
  driver_call call = calls_.begin("cuMemAdvise_v2", calls_.costs().advise_call);
  const auto* block = find(address, bytes);
  if (!block) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemAdvise", "the range must be in one managed block", native_invalid);
  }
  // On this device, read-mostly applies to the whole block, and preferred locations have no effect.
  if (advice == memory_advice::set_read_mostly) blocks_[block->address].read_mostly = true;
  if (advice == memory_advice::unset_read_mostly) blocks_[block->address].read_mostly = false;
  calls_.log().api_call(call, call.recorded_end(), 0, bytes, addresses_.name(address));
  calls_.finish(call);
  return {};
}

void managed_memory::touch_on_host(void* address, std::uint64_t bytes) {
  driver_call call = calls_.begin_unrecorded("host touch", 0);
  if (find(address, bytes)) {
    call.end = migrate(address, bytes, false, true, call.end, calls_.costs().fault_rate_to_host,
                       calls_.costs().fault_latency, trace::migration_cause::page_fault);
    calls_.log().memory(call.recorded_end(), budget_.info());
  }
  calls_.finish(call);
}

// --- migration ---------------------------------------------------------------------------------------------

std::int64_t managed_memory::migrate(const void* address, std::uint64_t bytes, bool to_device, bool written,
                                     std::int64_t ready, double rate, std::int64_t latency,
                                     trace::migration_cause cause) {
  const auto* whole = memory_.find(address);
  managed_block& b = blocks_[whole->address];
  const std::uint64_t piece = calls_.costs().migration_piece;
  const std::uint64_t offset = number(address) - whole->address;
  const std::uint8_t here = to_device ? at_device : at_host;
  const std::uint8_t there = to_device ? at_host : at_device;
  timeline& link = *engines_.find(to_device ? engine::to_device : engine::to_host);
  for (std::uint64_t i = offset / piece; bytes != 0 && i <= (offset + bytes - 1) / piece; ++i) {
    std::uint8_t& where = b.where[i];
    const std::uint8_t before = where;
    if (!(before & here)) {
      if (to_device) evict_for(piece, whole->address, ready);
      if (before & there) {
        const std::uint64_t size = std::min(piece, b.bytes - i * piece);
        const std::int64_t begin = link.book(ready + latency, cost_model::duration(size, rate));
        ready = begin + cost_model::duration(size, rate);
        calls_.log().migrated(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(ready),
                              memory_.get_name(reinterpret_cast<const void*>(whole->address + i * piece)), size,
                              to_device ? trace::direction::h2d : trace::direction::d2h, cause);
      }
    }
    // Read-mostly pages are copied instead of moved, until a write.
    where = b.read_mostly && !written ? static_cast<std::uint8_t>(before | here) : here;
    if ((where & at_device) && !(before & at_device)) budget_.take(piece);
    if (!(where & at_device) && (before & at_device)) budget_.give_back(piece);
  }
  return ready;
}

void managed_memory::evict_for(std::uint64_t bytes, std::uint64_t keep_block, std::int64_t ready) {
  const std::uint64_t piece = calls_.costs().migration_piece;
  timeline& link = *engines_.find(engine::to_host);
  for (auto& [address, b] : blocks_) {
    if (address == keep_block) continue;
    for (std::size_t i = 0; i < b.where.size() && budget_.info().free_bytes < bytes; ++i) {
      if (!(b.where[i] & at_device)) continue;
      b.where[i] = at_host;
      budget_.give_back(piece);
      const std::int64_t duration = cost_model::duration(piece, calls_.costs().pinned_d2h);
      const std::int64_t begin = link.book(ready, duration);
      calls_.log().migrated(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(begin + duration),
                            memory_.get_name(reinterpret_cast<const void*>(address + i * piece)), piece,
                            trace::direction::d2h, trace::migration_cause::eviction);
    }
  }
}

}  // namespace sluice::backend::simulated
