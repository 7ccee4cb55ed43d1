// A CUDA program that calls NVRTC's compiler in both ways: linked with it, and by dlsym of a library with local scope.
// The arguments come back as the result, so the program sees that its calls arrive.
#include <cuda.h>
#include <dlfcn.h>

extern "C" int nvrtcCompileProgram(void* program, int count, const char* const* options);

int main() {
  cuInit(0);
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  CUdeviceptr block = 0;
  cuMemAlloc(&block, 1 << 20);
  if (nvrtcCompileProgram(nullptr, 5, nullptr) != 5) return 1;
  void* const library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, "nvrtcCompileProgram");
  if (found == nullptr) return 2;
  if (reinterpret_cast<int (*)(void*, int, const char* const*)>(found)(nullptr, 6, nullptr) != 6) return 3;
  return dlsym(library, "nvrtcCompileNothing") == nullptr ? 0 : 4;
}
