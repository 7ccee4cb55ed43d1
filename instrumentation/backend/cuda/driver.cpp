#include "instrumentation/backend/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace sluice::backend::cuda {

namespace {

status get_status(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return status::out_of_memory;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
      return status::invalid_value;
    case CUDA_ERROR_NOT_SUPPORTED:
      return status::not_supported;
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    case CUDA_ERROR_CAPTURED_EVENT:
    case CUDA_ERROR_NOT_PERMITTED:
      return status::not_permitted;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
      return status::unavailable;
    default:
      return status::failed;
  }
}

device_result<driver> open() {
  // Opened by name: the loader finds the system's driver. Never closed, because the driver's threads keep running.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return backend::fail(status::unavailable, "dlopen", "no NVIDIA driver is installed (libcuda.so.1 not found)");
  driver d;
  std::string missing;
#define SLUICE_LOOK_UP(member, symbol, ...)                                    \
  d.member = reinterpret_cast<driver::member##_type*>(dlsym(library, symbol)); \
  if (!d.member) missing = symbol;
  SLUICE_DRIVER_CALLS(SLUICE_LOOK_UP)
#undef SLUICE_LOOK_UP
#define SLUICE_LOOK_UP(member, symbol, ...) d.member = reinterpret_cast<driver::member##_type*>(dlsym(library, symbol));
  SLUICE_OPTIONAL_DRIVER_CALLS(SLUICE_LOOK_UP)
#undef SLUICE_LOOK_UP
  if (!missing.empty()) {
    return backend::fail(status::unavailable, "dlsym",
                         fmt::format("the NVIDIA driver is too old: it lacks {}", missing));
  }
  if (const CUresult result = d.init(0); result != CUDA_SUCCESS) return d.fail(result, "cuInit");
  return d;
}

}  // namespace

const device_result<driver>& driver::get() {
  static const device_result<driver> opened = open();
  return opened;
}

tl::unexpected<failure> driver::fail(CUresult result, const char* call, std::string about) const {
  const char* text = nullptr;
  if (error_text(result, &text) != CUDA_SUCCESS || !text) text = "unknown error";
  return backend::fail(get_status(result), call, about.empty() ? text : fmt::format("{}: {}", text, about),
                       static_cast<int>(result));
}

}  // namespace sluice::backend::cuda
