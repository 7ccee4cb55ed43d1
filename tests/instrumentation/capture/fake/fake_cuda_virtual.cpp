// The fake driver's virtual memory management: addresses are mmap'ed, physical memory is a number, a mapping makes its addresses
// readable.
#include <sys/mman.h>

#include <atomic>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {
std::atomic<CUmemGenericAllocationHandle> last_handle{0x9a000000};
}

#pragma GCC visibility push(default)
extern "C" {

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
  CALL(cuMemAddressReserve, address, bytes, alignment, wanted, flags);
  void* where = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (where == MAP_FAILED) return the_call.leave(CUDA_ERROR_OUT_OF_MEMORY);
  *address = reinterpret_cast<CUdeviceptr>(where);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  CALL(cuMemAddressFree, address, bytes);
  return the_call.leave(munmap(host(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  CALL(cuMemCreate, handle, bytes, properties, flags);
  *handle = ++last_handle;
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  CALL(cuMemRelease, handle);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  CALL(cuMemMap, address, bytes, offset, handle, flags);
  const bool mapped = mprotect(host(address), bytes, PROT_READ | PROT_WRITE) == 0;
  {
    std::lock_guard lock(state().mutex);
    state().handle_at[address] = handle;
  }
  return the_call.leave(mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  CALL(cuMemUnmap, address, bytes);
  return the_call.leave(mprotect(host(address), bytes, PROT_NONE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

}  // extern "C"
#pragma GCC visibility pop
