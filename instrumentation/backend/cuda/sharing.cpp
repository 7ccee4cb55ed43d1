#include <cstring>

#include "instrumentation/backend/cuda/device.hpp"
#include "instrumentation/backend/cuda/native.hpp"
#include "instrumentation/ring/handle_key.hpp"
#include "instrumentation/ring/producer.hpp"

// Memory and events shared between processes, through the driver's handles as plain bytes.

namespace sluice::backend::cuda {

namespace {

static_assert(sizeof(CUipcMemHandle) == sizeof(ipc_memory_handle::bytes));
static_assert(sizeof(CUipcEventHandle) == sizeof(ipc_event_handle::bytes));

}  // namespace

device_result<ipc_memory_handle> cuda_device::export_memory(void* address) {
  CUipcMemHandle native{};
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.memory_export(&native, device_pointer(address));
  if (result != CUDA_SUCCESS) {
    return driver_.fail(result, "cuIpcGetMemHandle", "only memory from `allocate` can be shared");
  }
  ipc_memory_handle handle;
  std::memcpy(handle.bytes.data(), &native, sizeof native);
  if (logging())
    log_->shared(ring::now(), reinterpret_cast<std::uint64_t>(address),
                 ring::key_of_handle(handle.bytes.data(), handle.bytes.size()), false);
  return handle;
}

device_result<void*> cuda_device::import_memory(const ipc_memory_handle& handle) {
  const auto c = begin_call("cuIpcOpenMemHandle_v2");
  CUipcMemHandle native{};
  std::memcpy(&native, handle.bytes.data(), sizeof native);
  CUdeviceptr address = 0;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.memory_import(&address, native, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result != CUDA_SUCCESS) {
    return driver_.fail(result, "cuIpcOpenMemHandle",
                        "the handle must be from another process that still keeps the block");
  }
  if (logging()) {
    const std::uint64_t now = ring::now();
    const auto about = describe_pointer(reinterpret_cast<void*>(address));
    log_->api_call(c, now, 0);
    log_->allocated(
        c, now,
        {address, about ? about->bytes : 0, 0, 0, trace::memory_kind::device, ring::flag_ipc | ring::flag_shared});
    log_->shared(now, address, ring::key_of_handle(handle.bytes.data(), handle.bytes.size()), true);
  }
  return reinterpret_cast<void*>(address);
}

device_result<void> cuda_device::close_memory(void* address) {
  const auto c = begin_call("cuIpcCloseMemHandle");
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.memory_close(device_pointer(address));
  return freed(result, c, address, trace::memory_kind::device, 0);
}

device_result<ipc_event_handle> cuda_device::export_event(event_handle event) {
  CUipcEventHandle native_handle{};
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.event_export(&native_handle, native(event));
  if (result != CUDA_SUCCESS) return driver_.fail(result, "cuIpcGetEventHandle", "not an interprocess event");
  ipc_event_handle handle;
  std::memcpy(handle.bytes.data(), &native_handle, sizeof native_handle);
  return handle;
}

device_result<event_handle> cuda_device::import_event(const ipc_event_handle& handle) {
  CUipcEventHandle native_handle{};
  std::memcpy(&native_handle, handle.bytes.data(), sizeof native_handle);
  CUevent event = nullptr;
  const entered here = enter();
  CUresult result = here.result();
  if (result == CUDA_SUCCESS) result = driver_.event_import(&event, native_handle);
  if (result != CUDA_SUCCESS) {
    return driver_.fail(result, "cuIpcOpenEventHandle",
                        "the handle must be from another process that still keeps the event");
  }
  return event_handle{reinterpret_cast<std::uintptr_t>(event)};
}

}  // namespace sluice::backend::cuda
