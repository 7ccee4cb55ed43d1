#include "instrumentation/backend/simulated/state/host_memory.hpp"

#include <algorithm>
#include <iterator>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

namespace {

const host_memory::range* find_range(const std::map<std::uint64_t, host_memory::range>& ranges,
                                     const void* address) noexcept {
  const auto it = ranges.upper_bound(number(address));
  if (it == ranges.begin()) return nullptr;
  const host_memory::range& before = std::prev(it)->second;
  return number(address) - before.address < before.bytes ? &before : nullptr;
}

}  // namespace

const host_memory::range* host_memory::find_registered(const void* address) const noexcept {
  return find_range(registered_, address);
}

const host_memory::range* host_memory::find_file_mapping(const void* address) const noexcept {
  return find_range(file_mappings_, address);
}

device_result<void> host_memory::register_host(void* address, std::uint64_t bytes, registration_flags flags) {
  const auto& log = calls_.log();
  driver_call call = calls_.begin("cuMemHostRegister_v2", cost_model::duration(bytes, calls_.costs().register_rate));
  const auto next = registered_.lower_bound(number(address));
  const bool overlaps =
      find_registered(address) != nullptr || (next != registered_.end() && next->first - number(address) < bytes);
  if (!address || bytes == 0 || overlaps || memory_.contains(address)) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemHostRegister",
                overlaps ? "already registered" : "not ordinary host memory", native_invalid);
  }
  // A real device also refuses this, with any flags (measured).
  if (const range* file = find_file_mapping(address); file != nullptr && file->writable) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemHostRegister", "a writable shared file mapping cannot be registered",
                native_invalid);
  }
  const std::uint64_t name = next_name_;
  next_name_ += (bytes + 0x1fffff) / 0x100000 * 0x100000;
  registered_[number(address)] = {number(address), bytes, name, {flags.portable, flags.mapped, false}};
  log.api_call(call, call.recorded_end(), 0, bytes);
  log.allocated(call, call.recorded_end(), {name, bytes, 0, 0, trace::memory_kind::pinned, ring::flag_registered});
  calls_.finish(call);
  return {};
}

device_result<void> host_memory::unregister_host(void* address) {
  const auto& log = calls_.log();
  driver_call call = calls_.begin("cuMemHostUnregister", calls_.costs().free_pinned_call);
  const auto it = registered_.find(number(address));
  if (it == registered_.end()) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuMemHostUnregister", "the address is not the start of a registered range",
                native_invalid);
  }
  call.end = std::max(call.end, streams_.idle_at());  // measured: if a kernel is running, the driver waits for its end
  const driver_log::alloc freed{it->second.name, it->second.bytes, 0, 0, trace::memory_kind::pinned, 0};
  registered_.erase(it);
  log.freed(call, freed);
  log.free_completed(call, call.recorded_end(), freed.address);
  log.api_call(call, call.recorded_end(), 0);
  calls_.finish(call);
  return {};
}

void host_memory::note_file_mapping(const void* address, std::uint64_t bytes, bool writable) {
  const auto lock = calls_.lock();
  file_mappings_[number(address)] = {number(address), bytes, 0, {}, writable};
}

void host_memory::forget_file_mapping(const void* address) {
  const auto lock = calls_.lock();
  file_mappings_.erase(number(address));
}

void host_memory::spend(host_work work, std::uint64_t bytes) {
  const auto& c = calls_.costs();
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
  calls_.clock().spend(cost_model::duration(bytes, rate));
}

}  // namespace sluice::backend::simulated
