// The fake driver's virtual memory management: addresses come from mmap, physical memory is an unnamed file, and a
// mapping maps that file.
#include <sys/mman.h>
#include <unistd.h>

#include <map>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {

constexpr std::size_t granularity = std::size_t{2} << 20;

struct physical {
  int file = -1;
  std::uint64_t bytes = 0;
  int mappings = 0;
  CUdevice device = 0;
  bool released = false;
};
/// Call with the lock held.
std::map<CUmemGenericAllocationHandle, physical>& physicals() {
  static auto* const whole = new std::map<CUmemGenericAllocationHandle, physical>;
  return *whole;
}
CUmemGenericAllocationHandle last_handle = 0x9a000000;

/// Call with the lock held. Unmapping the last mapping frees the bytes.
void drop(CUmemGenericAllocationHandle handle) {
  const auto found = physicals().find(handle);
  if (found == physicals().end() || !found->second.released || found->second.mappings != 0) return;
  close(found->second.file);
  state().used -= found->second.bytes;
  physicals().erase(found);
}

CUresult make_physical(CUmemGenericAllocationHandle* handle, std::size_t bytes, CUdevice device) {
  std::lock_guard lock(state().mutex);
  if (bytes == 0 || bytes % granularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > state().total - state().used) return CUDA_ERROR_OUT_OF_MEMORY;
  const int file = memfd_create("fake-physical", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = ++last_handle;
  physicals()[*handle] = {file, bytes, 0, device};
  state().used += bytes;
  return CUDA_SUCCESS;
}

CUresult map_physical(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(state().mutex);
  const auto found = physicals().find(handle);
  const int file = found == physicals().end() ? -1 : found->second.file;
  // Memory that stands in for imported memory belongs to this process alone.
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* at = mmap(host(address), bytes, PROT_READ | PROT_WRITE, kind | MAP_FIXED, file, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_INVALID_VALUE;
  if (file >= 0) ++found->second.mappings;
  if (file >= 0 && found->second.device != 0) state().device_by_address[address] = found->second.device;
  state().handle_at[address] = handle;
  state().blocks[address] = bytes;
  return CUDA_SUCCESS;
}

CUresult unmap_all(CUdeviceptr address, std::size_t bytes) {
  std::lock_guard lock(state().mutex);
  void* at = mmap(host(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_INVALID_VALUE;
  auto& mapped = state().handle_at;
  for (auto i = mapped.lower_bound(address); i != mapped.end() && i->first < address + bytes; i = mapped.erase(i)) {
    state().blocks.erase(i->first);
    state().device_by_address.erase(i->first);
    if (const auto found = physicals().find(i->second); found != physicals().end()) --found->second.mappings;
    drop(i->second);
  }
  return CUDA_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = granularity;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
  CALL(cuMemAddressReserve, address, bytes, alignment, wanted, flags);
  if (bytes == 0 || bytes % granularity != 0) return the_call.leave(CUDA_ERROR_INVALID_VALUE);
  const std::uint64_t unit = alignment > granularity ? alignment : granularity;
  void* where = mmap(nullptr, bytes + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (where == MAP_FAILED) return the_call.leave(CUDA_ERROR_OUT_OF_MEMORY);
  // Returns the excess on either side.
  const auto got = reinterpret_cast<std::uint64_t>(where);
  *address = (got + unit - 1) / unit * unit;
  if (*address != got) munmap(where, *address - got);
  if (*address != got + unit) munmap(host(*address + bytes), got + unit - *address);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  CALL(cuMemAddressFree, address, bytes);
  return the_call.leave(munmap(host(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  CALL(cuMemCreate, handle, bytes, properties, flags);
  return the_call.leave(make_physical(handle, bytes, properties == nullptr ? 0 : properties->location.id));
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  CALL(cuMemRelease, handle);
  {
    // Imported memory is unknown here.
    std::lock_guard lock(state().mutex);
    if (const auto found = physicals().find(handle); found != physicals().end()) {
      found->second.released = true;
      drop(handle);
    }
  }
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  CALL(cuMemMap, address, bytes, offset, handle, flags);
  return the_call.leave(map_physical(address, bytes, handle));
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  CALL(cuMemUnmap, address, bytes);
  return the_call.leave(unmap_all(address, bytes));
}

}  // extern "C"
#pragma GCC visibility pop
