// The fake driver's memory that several processes share. As with the real driver, a descriptor is an open file of one
// device file. In another process, the fake driver maps that process's own memory instead.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>

#include "tests/instrumentation/capture/fake/fake_driver.hpp"

using namespace sluice::fake;

namespace {

/// An IPC handle: address, size in bytes, and owning process.
struct ipc_handle {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t process;
};
/// The exported pointer of a pool's block: identifies the block by its number in the pool, but not the pool.
struct pool_pointer {
  std::uint64_t number;
  std::uint64_t bytes;
};

CUresult open_device(void* out) {
  const int descriptor = open("/dev/zero", O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  std::memcpy(out, &descriptor, sizeof descriptor);
  return CUDA_SUCCESS;
}
bool is_descriptor(const void* given) {
  return fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(given)), F_GETFD) != -1;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  CALL(cuIpcGetMemHandle, handle, address);
  ipc_handle output{0, 0, static_cast<std::uint64_t>(getpid())};
  {
    std::lock_guard lock(state().mutex);
    if (!within(state().blocks, address, &output.address)) return the_call.leave(CUDA_ERROR_INVALID_VALUE);
    output.bytes = state().blocks[output.address];
  }
  *handle = {};
  std::memcpy(handle, &output, sizeof output);
  return the_call.leave(CUDA_SUCCESS);
}
/// A handle without a process contains an address: a block of this process stands in for another's.
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  CALL(cuIpcOpenMemHandle_v2, address, handle, flags);
  static std::map<std::pair<std::uint64_t, CUdeviceptr>, CUdeviceptr> opened;
  ipc_handle asked{};
  std::memcpy(&asked, &handle, sizeof asked);
  *address = asked.address;
  if (asked.process != 0) {
    CUdeviceptr& here = opened[{asked.process, asked.address}];
    if (here == 0 && take(&here, asked.bytes) != CUDA_SUCCESS) return the_call.leave(CUDA_ERROR_OUT_OF_MEMORY);
    *address = here;
  }
  return the_call.leave(*address == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  CALL(cuIpcCloseMemHandle, address);
  return the_call.leave(CUDA_SUCCESS);
}

/// Another process's event always counts as completed.
CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  *handle = {};
  std::memcpy(handle, &event, sizeof event);
  return event == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle) {
  *event = reinterpret_cast<CUevent>(new std::uint64_t(0));
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  CALL(cuMemExportToShareableHandle, out, handle, type, flags);
  return the_call.leave(open_device(out));
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* given,
                                        CUmemAllocationHandleType type) {
  CALL(cuMemImportFromShareableHandle, handle, given, type);
  static std::atomic<CUmemGenericAllocationHandle> last{0x9b000000};
  *handle = ++last;
  return the_call.leave(is_descriptor(given) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemPoolExportToShareableHandle(void* out, CUmemoryPool pool, CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  CALL(cuMemPoolExportToShareableHandle, out, pool, type, flags);
  return the_call.leave(open_device(out));
}
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* given, CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  CALL(cuMemPoolImportFromShareableHandle, pool, given, type, flags);
  *pool = reinterpret_cast<CUmemoryPool>(new int);
  return the_call.leave(is_descriptor(given) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  CALL(cuMemPoolExportPointer, data, address);
  const pool_pointer pointer{1, std::uint64_t{1} << 20};
  *data = {};
  std::memcpy(data, &pointer, sizeof pointer);
  return the_call.leave(CUDA_SUCCESS);
}
CUresult cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  CALL(cuMemPoolImportPointer, address, pool, data);
  pool_pointer given{};
  std::memcpy(&given, data, sizeof given);
  return the_call.leave(take(address, given.bytes));
}

}  // extern "C"
#pragma GCC visibility pop
