#include "instrumentation/backend/simulated/memory/virtual_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

namespace {

constexpr std::uint64_t granule = physical_memory::granule;

std::uint64_t handle_number(physical_handle physical) { return static_cast<std::uint64_t>(physical); }

std::string not_whole(std::uint64_t bytes) {
  return fmt::format("{} bytes: expected a multiple of the granularity, {}", bytes, granule);
}

}  // namespace

device_result<std::uint64_t> virtual_memory::granularity() const {
  if (!supported_) {
    return fail(status::not_supported, "cuMemGetAllocationGranularity", "the device does not support virtual memory");
  }
  return granule;
}

device_result<void*> virtual_memory::reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) {
  if (const auto able = granularity(); !able) return tl::unexpected(able.error());
  driver_call call = calls_.begin("cuMemAddressReserve", calls_.costs().reserve_call);
  const bool sound = bytes != 0 && bytes % granule == 0 && (alignment == 0 || std::has_single_bit(alignment));
  void* address = sound ? memory_.reserve(bytes, std::max(alignment, granule)) : nullptr;
  const driver_log::alloc record{memory_.get_name(address), bytes, 0, 0, trace::memory_kind::reservation, 0};
  const std::uint64_t end = call.recorded_end();
  const int native = address ? 0 : sound ? native_out_of_memory : native_invalid;
  calls_.log().api_call(call, end, 0, bytes, 0, 0, native);
  if (address) {
    calls_.log().allocated(call, end, record);
  } else {
    calls_.log().failed(call, end, record, native);
  }
  calls_.finish(call);
  if (address) return address;
  return sound ? fail(status::out_of_memory, "cuMemAddressReserve", fmt::format("{} bytes of addresses", bytes), native)
               : fail(status::invalid_value, "cuMemAddressReserve",
                      bytes % granule != 0 || bytes == 0 ? not_whole(bytes) : "the alignment is not a power of two",
                      native);
}

device_result<void> virtual_memory::free_addresses(void* address, std::uint64_t bytes) {
  driver_call call = calls_.begin("cuMemAddressFree", calls_.costs().reserve_call);
  const std::uint64_t name = memory_.get_name(address);
  const auto [begin, size] = memory_.get_reservation(address, bytes);
  const bool freed = begin == number(address) && size == bytes && memory_.unreserve(address);
  const std::uint64_t end = call.recorded_end();
  calls_.log().api_call(call, end, 0, bytes, 0, 0, freed ? 0 : native_invalid);
  if (freed) {
    calls_.log().freed(call, {name, bytes, 0, 0, trace::memory_kind::reservation, 0});
    calls_.log().free_completed(call, end, name);
  }
  calls_.finish(call);
  if (!freed) {
    return fail(status::invalid_value, "cuMemAddressFree", "expected a whole reservation without mappings",
                native_invalid);
  }
  return {};
}

device_result<physical_handle> virtual_memory::create_physical(std::uint64_t bytes) {
  if (const auto able = granularity(); !able) return tl::unexpected(able.error());
  driver_call call = calls_.begin("cuMemCreate", calls_.costs().physical_call);
  const bool sound = bytes != 0 && bytes % granule == 0;
  const memory_info info = budget_.info();
  const std::uint64_t offset = sound && bytes <= info.free_bytes ? physical_memory_.take(bytes) : physical_memory::none;
  const bool created = offset != physical_memory::none;
  const std::uint64_t handle = created ? next_physical_++ : 0;
  const std::uint64_t end = call.recorded_end();
  const int native = created ? 0 : sound ? native_out_of_memory : native_invalid;
  const driver_log::alloc record{handle, bytes, 0, 0, trace::memory_kind::physical, 0};
  calls_.log().api_call(call, end, 0, bytes, 0, 0, native);
  if (created) {
    physical_[handle] = {offset, bytes, 0, false};
    budget_.take(bytes);
    calls_.log().allocated(call, end, record);
    calls_.log().memory(end, budget_.info());
  } else {
    calls_.log().failed(call, end, record, native);
  }
  calls_.finish(call);
  if (created) return physical_handle{handle};
  return sound ? fail(status::out_of_memory, "cuMemCreate",
                      fmt::format("{} bytes, {} of {} free", bytes, info.free_bytes, info.total_bytes), native)
               : fail(status::invalid_value, "cuMemCreate", not_whole(bytes), native);
}

void virtual_memory::drop_unmapped(physical_map::iterator physical, std::int64_t now) {
  if (!physical->second.released || physical->second.mappings != 0) return;
  physical_memory_.give(physical->second.offset);
  budget_.give_back(physical->second.bytes);
  physical_.erase(physical);
  calls_.log().memory(static_cast<std::uint64_t>(now), budget_.info());
}

device_result<void> virtual_memory::release_physical(physical_handle physical) {
  driver_call call = calls_.begin("cuMemRelease", calls_.costs().free_call);
  const auto it = physical_.find(handle_number(physical));
  const bool known = it != physical_.end() && !it->second.released;
  calls_.log().api_call(call, call.recorded_end(), 0, 0, 0, 0, known ? 0 : native_invalid);
  if (known) {
    calls_.log().freed(call, {it->first, it->second.bytes, 0, 0, trace::memory_kind::physical, 0});
    it->second.released = true;
    drop_unmapped(it, call.end);
  }
  calls_.finish(call);
  if (!known) return fail(status::invalid_value, "cuMemRelease", "no such physical memory", native_invalid);
  return {};
}

device_result<void> virtual_memory::map(void* address, std::uint64_t bytes, physical_handle physical) {
  driver_call call = calls_.begin("cuMemMap", calls_.costs().map_call);
  const auto it = physical_.find(handle_number(physical));
  const char* wrong = nullptr;
  if (it == physical_.end() || it->second.released) {
    wrong = "no such physical memory";
  } else if (bytes != it->second.bytes) {
    wrong = "the physical memory must be mapped as a whole";
  } else if (memory_.get_reservation(address, bytes).second == 0 || number(address) % granule != 0) {
    wrong = "the addresses are not reserved, or not aligned to the granularity";
  } else if (const auto next = memory_.blocks().lower_bound(number(address));
             memory_.find(address) || (next != memory_.blocks().end() && next->first < number(address) + bytes)) {
    wrong = "the range overlaps an existing mapping";
  } else if (!memory_.map(address, bytes, physical_memory_.file(), it->second.offset)) {
    wrong = "the system refused the mapping";
  }
  const std::uint64_t end = call.recorded_end();
  calls_.log().api_call(call, end, 0, bytes, 0, 0, wrong ? native_invalid : 0);
  if (!wrong) {
    ++it->second.mappings;
    mappings_[number(address)] = it->first;
    calls_.log().allocated(
        call, end, {memory_.get_name(address), bytes, 0, 0, trace::memory_kind::mapping, 0, handle_number(physical)});
  }
  calls_.finish(call);
  if (wrong) return fail(status::invalid_value, "cuMemMap", wrong, native_invalid);
  return {};
}

device_result<void> virtual_memory::unmap(void* address, std::uint64_t bytes) {
  driver_call call = calls_.begin("cuMemUnmap", calls_.costs().map_call);
  // Adjacent mappings that together fill the range.
  std::vector<std::uint64_t> ending;
  std::uint64_t at = number(address);
  const std::uint64_t last = at + bytes;
  while (at < last && mappings_.count(at) != 0) {
    ending.push_back(at);
    at += memory_.find(reinterpret_cast<const void*>(at))->bytes;
  }
  const bool fits = bytes != 0 && at == last;
  calls_.log().api_call(call, call.recorded_end(), 0, bytes, 0, 0, fits ? 0 : native_invalid);
  if (fits) {
    calls_.log().freed(call, {memory_.get_name(address), bytes, 0, 0, trace::memory_kind::mapping, 0});
    for (const std::uint64_t mapping : ending) {
      memory_.unmap(reinterpret_cast<void*>(mapping));
      const auto physical = physical_.find(mappings_[mapping]);
      mappings_.erase(mapping);
      --physical->second.mappings;
      drop_unmapped(physical, call.end);
    }
  }
  calls_.finish(call);
  if (!fits)
    return fail(status::invalid_value, "cuMemUnmap", "the range does not consist of whole mappings", native_invalid);
  return {};
}

// --- recordings --------------------------------------------------------------------------------------------

std::uint64_t virtual_memory::physical_at(std::uint64_t address) const {
  const auto it = mappings_.find(address);
  return it == mappings_.end() ? 0 : it->second;
}

void virtual_memory::announce(std::uint64_t now) const {
  const driver_log::call none;
  for (const auto& [address, bytes] : memory_.reservations()) {
    calls_.log().allocated(none, now,
                           {memory_.get_name(reinterpret_cast<const void*>(address)), bytes, 0, 0,
                            trace::memory_kind::reservation, ring::flag_born_before});
  }
  for (const auto& [handle, physical] : physical_) {
    calls_.log().allocated(none, now,
                           {handle, physical.bytes, 0, 0, trace::memory_kind::physical, ring::flag_born_before});
  }
}

}  // namespace sluice::backend::simulated
