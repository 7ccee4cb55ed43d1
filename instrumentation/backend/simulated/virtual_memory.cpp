#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "instrumentation/backend/simulated/device.hpp"

// Virtual memory: addresses, physical memory and mappings, recorded as three blocks, as with a real driver.

namespace sluice::backend {

namespace {

constexpr std::uint64_t granule = simulated::physical_memory::granule;

std::uint64_t number(physical_handle physical) { return static_cast<std::uint64_t>(physical); }

std::string not_whole(std::uint64_t bytes) {
  return fmt::format("{} bytes: expected a multiple of the granularity, {}", bytes, granule);
}

}  // namespace

device_result<std::uint64_t> simulated_device::virtual_granularity() {
  if (!config_.features.virtual_memory) {
    return fail(status::not_supported, "cuMemGetAllocationGranularity", "the device does not support virtual memory");
  }
  return granule;
}

device_result<void*> simulated_device::reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) {
  if (const auto able = virtual_granularity(); !able) return tl::unexpected(able.error());
  entry e = enter("cuMemAddressReserve", config_.costs.reserve_call);
  const bool sound = bytes != 0 && bytes % granule == 0 && (alignment == 0 || std::has_single_bit(alignment));
  void* address = sound ? memory_.reserve(bytes, std::max(alignment, granule)) : nullptr;
  const driver_log::alloc what{memory_.name_of(address), bytes, 0, 0, trace::memory_kind::reservation, 0};
  const auto end = static_cast<std::uint64_t>(e.end);
  const int native = address ? 0 : sound ? native_out_of_memory : native_invalid;
  log_.api_call(e.call, end, 0, bytes, 0, 0, native);
  if (address) {
    log_.allocated(e.call, end, what);
  } else {
    log_.failed(e.call, end, what, native);
  }
  leave(e);
  if (address) return address;
  return sound ? fail(status::out_of_memory, "cuMemAddressReserve", fmt::format("{} bytes of addresses", bytes), native)
               : fail(status::invalid_value, "cuMemAddressReserve",
                      bytes % granule != 0 || bytes == 0 ? not_whole(bytes) : "the alignment is not a power of two",
                      native);
}

device_result<void> simulated_device::free_addresses(void* address, std::uint64_t bytes) {
  entry e = enter("cuMemAddressFree", config_.costs.reserve_call);
  const std::uint64_t name = memory_.name_of(address);
  const auto [begin, size] = memory_.reservation_of(address, bytes);
  const bool freed = begin == number(address) && size == bytes && memory_.unreserve(address);
  const auto end = static_cast<std::uint64_t>(e.end);
  log_.api_call(e.call, end, 0, bytes, 0, 0, freed ? 0 : native_invalid);
  if (freed) {
    log_.freed(e.call, {name, bytes, 0, 0, trace::memory_kind::reservation, 0});
    log_.free_completed(e.call, end, name);
  }
  leave(e);
  if (!freed) {
    return fail(status::invalid_value, "cuMemAddressFree", "expected a whole reservation without mappings",
                native_invalid);
  }
  return {};
}

device_result<physical_handle> simulated_device::create_physical(std::uint64_t bytes) {
  if (const auto able = virtual_granularity(); !able) return tl::unexpected(able.error());
  entry e = enter("cuMemCreate", config_.costs.physical_call);
  const bool sound = bytes != 0 && bytes % granule == 0;
  const memory_info info = memory_now();
  const std::uint64_t offset =
      sound && bytes <= info.free_bytes ? physical_memory_.take(bytes) : simulated::physical_memory::none;
  const bool made = offset != simulated::physical_memory::none;
  const std::uint64_t handle = made ? next_physical_++ : 0;
  const auto end = static_cast<std::uint64_t>(e.end);
  const int native = made ? 0 : sound ? native_out_of_memory : native_invalid;
  const driver_log::alloc what{handle, bytes, 0, 0, trace::memory_kind::physical, 0};
  log_.api_call(e.call, end, 0, bytes, 0, 0, native);
  if (made) {
    physical_[handle] = {offset, bytes, 0, false};
    device_bytes_ += bytes;
    log_.allocated(e.call, end, what);
    log_.memory(end, memory_now());
  } else {
    log_.failed(e.call, end, what, native);
  }
  leave(e);
  if (made) return physical_handle{handle};
  return sound ? fail(status::out_of_memory, "cuMemCreate",
                      fmt::format("{} bytes, {} of {} free", bytes, info.free_bytes, info.total_bytes), native)
               : fail(status::invalid_value, "cuMemCreate", not_whole(bytes), native);
}

void simulated_device::drop_unmapped(std::map<std::uint64_t, physical_state>::iterator physical, std::int64_t now) {
  if (!physical->second.released || physical->second.mappings != 0) return;
  physical_memory_.give(physical->second.offset);
  device_bytes_ -= physical->second.bytes;
  physical_.erase(physical);
  log_.memory(static_cast<std::uint64_t>(now), memory_now());
}

device_result<void> simulated_device::release_physical(physical_handle physical) {
  entry e = enter("cuMemRelease", config_.costs.free_call);
  const auto it = physical_.find(number(physical));
  const bool known = it != physical_.end() && !it->second.released;
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), 0, 0, 0, 0, known ? 0 : native_invalid);
  if (known) {
    log_.freed(e.call, {it->first, it->second.bytes, 0, 0, trace::memory_kind::physical, 0});
    it->second.released = true;
    drop_unmapped(it, e.end);
  }
  leave(e);
  if (!known) return fail(status::invalid_value, "cuMemRelease", "no such physical memory", native_invalid);
  return {};
}

device_result<void> simulated_device::map(void* address, std::uint64_t bytes, physical_handle physical) {
  entry e = enter("cuMemMap", config_.costs.map_call);
  const auto it = physical_.find(number(physical));
  const char* wrong = nullptr;
  if (it == physical_.end() || it->second.released) {
    wrong = "no such physical memory";
  } else if (bytes != it->second.bytes) {
    wrong = "the physical memory must be mapped as a whole";
  } else if (memory_.reservation_of(address, bytes).second == 0 || number(address) % granule != 0) {
    wrong = "the addresses are not reserved, or not aligned to the granularity";
  } else if (const auto next = memory_.blocks().lower_bound(number(address));
             memory_.find(address) || (next != memory_.blocks().end() && next->first < number(address) + bytes)) {
    wrong = "the range overlaps an existing mapping";
  } else if (!memory_.map(address, bytes, physical_memory_.file(), it->second.offset)) {
    wrong = "the system refused the mapping";
  }
  const auto end = static_cast<std::uint64_t>(e.end);
  log_.api_call(e.call, end, 0, bytes, 0, 0, wrong ? native_invalid : 0);
  if (!wrong) {
    ++it->second.mappings;
    mappings_[number(address)] = it->first;
    log_.allocated(e.call, end,
                   {memory_.name_of(address), bytes, 0, 0, trace::memory_kind::mapping, 0, number(physical)});
  }
  leave(e);
  if (wrong) return fail(status::invalid_value, "cuMemMap", wrong, native_invalid);
  return {};
}

device_result<void> simulated_device::unmap(void* address, std::uint64_t bytes) {
  entry e = enter("cuMemUnmap", config_.costs.map_call);
  // Adjacent mappings that together fill the range.
  std::vector<std::uint64_t> ending;
  std::uint64_t at = number(address);
  const std::uint64_t last = at + bytes;
  while (at < last && mappings_.count(at) != 0) {
    ending.push_back(at);
    at += memory_.find(reinterpret_cast<const void*>(at))->bytes;
  }
  const bool fits = bytes != 0 && at == last;
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), 0, bytes, 0, 0, fits ? 0 : native_invalid);
  if (fits) {
    log_.freed(e.call, {memory_.name_of(address), bytes, 0, 0, trace::memory_kind::mapping, 0});
    for (const std::uint64_t mapping : ending) {
      memory_.unmap(reinterpret_cast<void*>(mapping));
      const auto physical = physical_.find(mappings_[mapping]);
      mappings_.erase(mapping);
      --physical->second.mappings;
      drop_unmapped(physical, e.end);
    }
  }
  leave(e);
  if (!fits)
    return fail(status::invalid_value, "cuMemUnmap", "the range does not consist of whole mappings", native_invalid);
  return {};
}

}  // namespace sluice::backend
