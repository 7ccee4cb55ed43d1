// PyTorch's caching allocator as C functions, for the runtime's benchmarks. runtime_table.py compiles it against the
// installed PyTorch; it is not part of the build.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

void prepare() {
  static const bool ready = [] {
    allocator::init(c10::cuda::device_count());
    return true;
  }();
  (void)ready;
}

}  // namespace

extern "C" void* torch_peer_allocate(size_t bytes, void* stream) {
  prepare();
  return allocator::raw_alloc_with_stream(bytes, static_cast<cudaStream_t>(stream));
}
extern "C" void torch_peer_free(void* address) { allocator::raw_delete(address); }
extern "C" void torch_peer_empty() { allocator::emptyCache(); }
