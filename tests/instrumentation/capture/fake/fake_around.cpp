// A library that calls the driver and bypasses any preloaded library: either as a library loaded with RTLD_DEEPBIND and
// linked with the driver, or through libc's own dlsym. The caller chooses.
#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>
#include <memory>

#undef cuMemAlloc
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);

namespace {

using allocate_function = CUresult (*)(CUdeviceptr*, std::size_t);

void* look_up(const char* name) {
  using look_up_function = void* (*)(void*, const char*);
  const auto real = reinterpret_cast<look_up_function>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  return real == nullptr || driver == nullptr ? nullptr : real(driver, name);
}

allocate_function kept = nullptr;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUdeviceptr allocate_by_linkage(std::size_t bytes) {
  CUdeviceptr address = 0;
  return cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS ? address : 0;
}
CUdeviceptr allocate_by_variable(std::size_t bytes) {
  if (kept == nullptr) kept = reinterpret_cast<allocate_function>(look_up("cuMemAlloc_v2"));
  CUdeviceptr address = 0;
  return kept != nullptr && kept(&address, bytes) == CUDA_SUCCESS ? address : 0;
}
CUdeviceptr allocate_by_heap(std::size_t bytes) {
  static auto* const table = new allocate_function(reinterpret_cast<allocate_function>(look_up("cuMemAlloc_v2")));
  CUdeviceptr address = 0;
  return *table != nullptr && (*table)(&address, bytes) == CUDA_SUCCESS ? address : 0;
}

}  // extern "C"
#pragma GCC visibility pop
