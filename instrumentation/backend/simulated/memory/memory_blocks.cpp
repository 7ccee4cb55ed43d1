#include "instrumentation/backend/simulated/memory/memory_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

namespace {

constexpr std::uint64_t device_page = 2u << 20;  // the driver allocates device memory in pages of 2 MiB
constexpr std::uint64_t small_block = 1u << 20;  // smaller requests share pages

std::uint64_t rounded_for_device(std::uint64_t bytes) {
  const std::uint64_t unit = bytes < small_block ? 512 : device_page;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

// --- both kinds of calls -----------------------------------------------------------------------------------

device_result<void*> memory_blocks::allocate(driver_call& call, std::uint64_t bytes, memory_space space,
                                             pinned_flags flags) {
  if (auto allowed = captures_.permitted_unsafe(call.name); !allowed) {
    calls_.finish(call);
    return tl::unexpected(std::move(allowed.error()));
  }
  const std::uint64_t end = call.recorded_end();
  driver_log::alloc record{0, bytes, 0, 0, trace_kind(space), 0};
  const bool fits = space != memory_space::device || rounded_for_device(bytes) <= budget_.info().free_bytes;
  void* address = bytes != 0 && fits ? memory_.allocate(bytes, space, flags) : nullptr;
  if (!address) {
    const int native = bytes == 0 ? native_invalid : native_out_of_memory;
    calls_.log().api_call(call, end, 0, bytes, 0, 0, native);
    calls_.log().failed(call, end, record, native);
    const memory_info info = budget_.info();
    calls_.finish(call);
    return fail(bytes == 0 ? status::invalid_value : status::out_of_memory, call.name,
                bytes == 0 ? std::string("zero bytes")
                           : fmt::format("{} bytes, {} of {} free", bytes, info.free_bytes, info.total_bytes),
                native);
  }
  if (space == memory_space::device) budget_.take(rounded_for_device(bytes));
  record.address = memory_.get_name(address);
  calls_.log().api_call(call, end, 0, bytes);
  calls_.log().allocated(call, end, record);
  if (space != memory_space::pinned) calls_.log().memory(end, budget_.info());
  calls_.finish(call);
  return address;
}

device_result<void> memory_blocks::free(driver_call& call, void* address, memory_space space) {
  if (auto allowed = captures_.permitted_unsafe(call.name); !allowed) {
    calls_.finish(call);
    return allowed;
  }
  const auto* block = memory_.find(address);
  if (!block || block->space != space || block->address != number(address) || block->mapping || block->imported ||
      graph_memory_.find(address)) {
    calls_.finish(call);
    return fail(status::invalid_value, call.name, "the address is not the start of a block of this kind",
                native_invalid);
  }
  call.end = std::max(call.end, streams_.idle_at());  // the driver waits before it frees memory
  calls_.queue().run_until(call.end);
  const std::uint64_t end = call.recorded_end();
  const driver_log::alloc record{memory_.get_name(address), block->bytes, 0, 0, trace_kind(space), 0};
  calls_.log().freed(call, record);
  calls_.log().free_completed(call, end, record.address);
  if (space == memory_space::device) budget_.give_back(rounded_for_device(block->bytes));
  if (space == memory_space::managed) managed_.remove(address);
  memory_.free(address);
  calls_.log().api_call(call, end, 0);
  if (space != memory_space::pinned) calls_.log().memory(end, budget_.info());
  calls_.finish(call);
  return {};
}

// --- calls -------------------------------------------------------------------------------------------------

device_result<void*> memory_blocks::allocate(std::uint64_t bytes) {
  driver_call call = calls_.begin("cuMemAlloc_v2", calls_.costs().allocate_call);
  return allocate(call, bytes, memory_space::device, {});
}

device_result<void> memory_blocks::free(void* address) {
  if (!address) return {};
  driver_call call = calls_.begin("cuMemFree_v2", calls_.costs().free_call);
  // As in CUDA, one call frees both device and managed memory.
  const auto* block = memory_.find(address);
  return free(call, address,
              block && block->space == memory_space::managed ? memory_space::managed : memory_space::device);
}

device_result<void*> memory_blocks::allocate_pinned(std::uint64_t bytes, pinned_flags flags) {
  driver_call call = calls_.begin("cuMemHostAlloc", calls_.costs().allocate_pinned_call);
  return allocate(call, bytes, memory_space::pinned, flags);
}

device_result<void> memory_blocks::free_pinned(void* address) {
  if (!address) return {};
  driver_call call = calls_.begin("cuMemFreeHost", calls_.costs().free_pinned_call);
  return free(call, address, memory_space::pinned);
}

device_result<void*> memory_blocks::allocate_managed(std::uint64_t bytes) {
  driver_call call = calls_.begin("cuMemAllocManaged", calls_.costs().allocate_managed_call);
  auto address = allocate(call, bytes, memory_space::managed, {});
  if (address) managed_.add(*address, bytes);
  return address;
}

device_result<memory_info> memory_blocks::memory() {
  driver_call call = calls_.begin_unrecorded("cuMemGetInfo_v2", calls_.costs().event_call);
  const memory_info info = budget_.info();
  calls_.log().memory(call.begin, info);
  calls_.finish(call);
  return info;
}

void memory_blocks::announce(std::uint64_t now, const virtual_memory& mappings) const {
  const driver_log::call none;
  for (const auto& [address, block] : memory_.blocks()) {
    calls_.log().allocated(none, now,
                           {memory_.get_name(reinterpret_cast<const void*>(address)), block.bytes, 0, 0,
                            block.mapping ? trace::memory_kind::mapping : trace_kind(block.space),
                            ring::flag_born_before, block.mapping ? mappings.physical_at(address) : 0});
  }
}

}  // namespace sluice::backend::simulated
