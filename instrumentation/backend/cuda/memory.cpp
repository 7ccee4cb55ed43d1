#include <fmt/format.h>

#include <algorithm>

#include "instrumentation/backend/cuda/device.hpp"
#include "instrumentation/backend/cuda/native.hpp"
#include "instrumentation/ring/producer.hpp"

// Memory: blocks of every kind, virtual memory, and queries about addresses.

namespace sluice::backend::cuda {

// --- blocks ------------------------------------------------------------------------------------------------

device_result<void*> cuda_device::allocated(CUresult result, const driver_log::call& c,
                                            const driver_log::alloc& alloc) {
  if (logging()) {
    const std::uint64_t now = ring::now();
    log_->api_call(c, now, alloc.stream, alloc.bytes, 0, 0, result);
    if (result == CUDA_SUCCESS) {
      log_->allocated(c, now, alloc);
    } else {
      log_->failed(c, now, alloc, result);
    }
  }
  if (result != CUDA_SUCCESS)
    return driver_.fail(result, c.name, fmt::format("{} bytes on {}", alloc.bytes, description_.name));
  return reinterpret_cast<void*>(alloc.address);
}

device_result<void> cuda_device::freed(CUresult result, const driver_log::call& c, const void* address,
                                       trace::memory_kind kind, std::uint64_t stream) {
  if (logging()) {
    const driver_log::alloc subject{reinterpret_cast<std::uint64_t>(address),
                                    0,
                                    stream,
                                    stream != 0 ? default_pool_key(description_.ordinal) : 0,
                                    kind,
                                    0};
    const std::uint64_t now = ring::now();
    log_->api_call(c, now, stream, 0, 0, 0, result);
    if (result == CUDA_SUCCESS) {
      log_->freed(c, subject);
      if (stream == 0) log_->free_completed(c, now, subject.address);
    }
  }
  return check(result, c.name);
}

device_result<void*> cuda_device::allocate(std::uint64_t bytes) {
  const auto c = begin_call("cuMemAlloc_v2");
  CUdeviceptr address = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.allocate(&address, bytes);
  auto out = allocated(result, c, {address, bytes, 0, 0, trace::memory_kind::device, 0});
  if (logging()) (void)memory();
  return out;
}

device_result<void> cuda_device::free(void* address) {
  if (!address) return {};
  const auto kind = logging() ? trace_kind(get_space(address)) : trace::memory_kind::device;
  const auto c = begin_call("cuMemFree_v2");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.free(device_pointer(address));
  auto out = freed(result, c, address, kind, 0);
  if (logging()) (void)memory();
  return out;
}

device_result<void*> cuda_device::allocate_pinned(std::uint64_t bytes, pinned_flags flags) {
  const auto c = begin_call("cuMemHostAlloc");
  const unsigned bits = (flags.portable ? CU_MEMHOSTALLOC_PORTABLE : 0u) |
                        (flags.mapped ? CU_MEMHOSTALLOC_DEVICEMAP : 0u) |
                        (flags.write_combined ? CU_MEMHOSTALLOC_WRITECOMBINED : 0u);
  void* address = nullptr;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.allocate_host(&address, bytes, bits);
  return allocated(result, c, {reinterpret_cast<std::uint64_t>(address), bytes, 0, 0, trace::memory_kind::pinned, 0});
}

device_result<void> cuda_device::free_pinned(void* address) {
  if (!address) return {};
  const auto c = begin_call("cuMemFreeHost");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.free_host(address);
  return freed(result, c, address, trace::memory_kind::pinned, 0);
}

device_result<void> cuda_device::register_host(void* address, std::uint64_t bytes, registration_flags flags) {
  const auto c = begin_call("cuMemHostRegister_v2");
  const unsigned bits = (flags.portable ? CU_MEMHOSTREGISTER_PORTABLE : 0u) |
                        (flags.mapped ? CU_MEMHOSTREGISTER_DEVICEMAP : 0u) |
                        (flags.read_only ? CU_MEMHOSTREGISTER_READ_ONLY : 0u);
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.register_host(address, bytes, bits);
  if (logging() && result == CUDA_SUCCESS) {
    log_->allocated(
        c, ring::now(),
        {reinterpret_cast<std::uint64_t>(address), bytes, 0, 0, trace::memory_kind::pinned, ring::flag_registered});
  }
  return check(result, c.name);
}

device_result<void> cuda_device::unregister_host(void* address) {
  const auto c = begin_call("cuMemHostUnregister");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.unregister_host(address);
  return freed(result, c, address, trace::memory_kind::pinned, 0);
}

device_result<void*> cuda_device::allocate_managed(std::uint64_t bytes) {
  const auto c = begin_call("cuMemAllocManaged");
  CUdeviceptr address = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.allocate_managed(&address, bytes, CU_MEM_ATTACH_GLOBAL);
  return allocated(result, c, {address, bytes, 0, 0, trace::memory_kind::managed, 0});
}

namespace {

CUmemLocation location(memory_location where, CUdevice which) {
  CUmemLocation host{};
  host.type = CU_MEM_LOCATION_TYPE_HOST;
  return where.on_host ? host : on_device(which);
}

}  // namespace

device_result<void> cuda_device::prefetch(void* address, std::uint64_t bytes, memory_location to,
                                          stream_handle stream) {
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) {
    result = driver_.prefetch(device_pointer(address), bytes, location(to, device_), 0, native(stream));
  }
  return check(result, "cuMemPrefetchAsync");
}

device_result<void> cuda_device::advise(void* address, std::uint64_t bytes, memory_advice advice,
                                        memory_location where) {
  CUmem_advise umem_advise = CU_MEM_ADVISE_SET_READ_MOSTLY;
  switch (advice) {
    case memory_advice::set_read_mostly:
      break;
    case memory_advice::unset_read_mostly:
      umem_advise = CU_MEM_ADVISE_UNSET_READ_MOSTLY;
      break;
    case memory_advice::set_preferred_location:
      umem_advise = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
      break;
    case memory_advice::unset_preferred_location:
      umem_advise = CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
      break;
  }
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS)
    result = driver_.advise(device_pointer(address), bytes, umem_advise, location(where, device_));
  return check(result, "cuMemAdvise");
}

device_result<memory_info> cuda_device::memory() {
  std::size_t free = 0, total = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.memory_info(&free, &total);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuMemGetInfo");
  const memory_info info{free, total};
  if (logging()) log_->memory(ring::now(), info);
  return info;
}

// --- virtual memory ----------------------------------------------------------------------------------------

CUmemAllocationProp cuda_device::physical_properties() const noexcept {
  CUmemAllocationProp p{};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = on_device(device_);
  return p;
}

device_result<std::uint64_t> cuda_device::virtual_granularity() {
  std::size_t bytes = 0;
  const CUmemAllocationProp properties = physical_properties();
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuMemGetAllocationGranularity", description_.name);
  return bytes;
}

device_result<void*> cuda_device::reserve_addresses(std::uint64_t bytes, std::uint64_t alignment) {
  const auto c = begin_call("cuMemAddressReserve");
  CUdeviceptr address = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.address_reserve(&address, bytes, alignment, 0, 0);
  return allocated(result, c, {address, bytes, 0, 0, trace::memory_kind::reservation, 0});
}

device_result<void> cuda_device::free_addresses(void* address, std::uint64_t bytes) {
  const auto c = begin_call("cuMemAddressFree");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.address_free(device_pointer(address), bytes);
  return freed(result, c, address, trace::memory_kind::reservation, 0);
}

device_result<physical_handle> cuda_device::create_physical(std::uint64_t bytes) {
  const auto c = begin_call("cuMemCreate");
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = physical_properties();
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.physical_create(&handle, bytes, &properties, 0);
  const auto output = allocated(result, c, {handle, bytes, 0, 0, trace::memory_kind::physical, 0});
  if (!output) return tl::unexpected(output.error());
  if (logging()) (void)memory();
  return physical_handle{handle};
}

device_result<void> cuda_device::release_physical(physical_handle physical) {
  const auto c = begin_call("cuMemRelease");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.physical_release(static_cast<std::uint64_t>(physical));
  auto out = freed(result, c, reinterpret_cast<void*>(physical), trace::memory_kind::physical, 0);
  if (logging()) (void)memory();
  return out;
}

device_result<void> cuda_device::map(void* address, std::uint64_t bytes, physical_handle physical) {
  const auto c = begin_call("cuMemMap");
  const auto handle = static_cast<std::uint64_t>(physical);
  const CUdeviceptr at = device_pointer(address);
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.map(at, bytes, 0, handle, 0);
  if (result == CUDA_SUCCESS) {
    CUmemAccessDesc access{};
    access.location = on_device(device_);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result = driver_.set_access(at, bytes, &access, 1);
    // A mapping without access is useless.
    if (result != CUDA_SUCCESS) driver_.unmap(at, bytes);
  }
  const auto done = allocated(result, c, {at, bytes, 0, 0, trace::memory_kind::mapping, 0, handle});
  return done ? device_result<void>{} : tl::unexpected(done.error());
}

device_result<void> cuda_device::unmap(void* address, std::uint64_t bytes) {
  const auto c = begin_call("cuMemUnmap");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.unmap(device_pointer(address), bytes);
  if (logging()) {
    log_->api_call(c, ring::now(), 0, bytes, 0, 0, result);
    if (result == CUDA_SUCCESS)
      log_->freed(c, {reinterpret_cast<std::uint64_t>(address), bytes, 0, 0, trace::memory_kind::mapping, 0});
  }
  return check(result, c.name);
}

// --- queries about addresses -------------------------------------------------------------------------------

memory_space cuda_device::get_space(const void* address) noexcept { return get_place(address).space; }

cuda_device::pointer_location cuda_device::get_place(const void* address) noexcept {
  CUmemorytype type{};
  unsigned managed = 0;
  int ordinal = -1;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&type, &managed, &ordinal};
  const entered here = enter();
  if (here.result() != CUDA_SUCCESS ||
      driver_.pointer_attributes(3, wanted, values, device_pointer(address)) != CUDA_SUCCESS) {
    return {};
  }
  if (managed) return {memory_space::managed, ordinal};
  if (type == CU_MEMORYTYPE_HOST) return {memory_space::pinned, ordinal};
  return type == CU_MEMORYTYPE_DEVICE ? pointer_location{memory_space::device, ordinal} : pointer_location{};
}

device_result<pointer_info> cuda_device::describe_pointer(const void* address) {
  pointer_info out;
  out.space = get_space(address);
  if (out.space == memory_space::pageable) {
    out.host_address = const_cast<void*>(address);
    return out;
  }
  unsigned managed = 0;
  int ordinal = -1;
  CUdeviceptr base = 0, on_device = 0;
  void* on_host = nullptr;
  std::size_t bytes = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_POINTER,   CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* values[] = {&managed, &ordinal, &base, &bytes, &on_device, &on_host};
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.pointer_attributes(6, wanted, values, device_pointer(address));
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuPointerGetAttributes", description_.name);
  out.device = std::max(ordinal, -1);
  out.base = reinterpret_cast<void*>(base);
  out.bytes = bytes;
  out.host_address = on_host;
  out.device_address = reinterpret_cast<void*>(on_device);
  out.managed = managed != 0;
  if (out.space == memory_space::pinned) {
    unsigned bits = 0;
    if (driver_.host_flags(&bits, const_cast<void*>(address)) == CUDA_SUCCESS) {
      out.flags = {(bits & CU_MEMHOSTALLOC_PORTABLE) != 0, (bits & CU_MEMHOSTALLOC_DEVICEMAP) != 0,
                   (bits & CU_MEMHOSTALLOC_WRITECOMBINED) != 0};
    }
    out.mapped = on_device != 0;
  }
  return out;
}

device_result<void*> cuda_device::get_device_address(void* host_address) {
  CUdeviceptr address = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.host_device_pointer(&address, host_address, 0);
  if (result != CUDA_SUCCESS) {
    return driver_.fail(result, "cuMemHostGetDevicePointer",
                        "expected pinned memory that was allocated or registered as mapped");
  }
  return reinterpret_cast<void*>(address);
}

}  // namespace sluice::backend::cuda
