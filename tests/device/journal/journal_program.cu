// journal_program: every kind of allocation, copy, memset, launch and synchronization once, with odd sizes that
// identify each in a recording. Writes a ledger of its actions, with one `name count bytes` per line.
//
//   journal_program [LEDGER]       status 0: every call succeeded as expected (one allocation fails on purpose)

#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct entry {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
std::map<std::string, entry> ledger;
std::mutex ledger_mutex;

void did(const char* what, std::uint64_t bytes = 0) {
  std::lock_guard lock(ledger_mutex);
  ledger[what].count += 1;
  ledger[what].bytes += bytes;
}

void check(cudaError_t result, const char* call, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "journal_program:%d: %s: %s\n", line, call, cudaGetErrorString(result));
  std::exit(1);
}
void check(CUresult result, const char* call, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "journal_program:%d: %s: %s\n", line, call, name);
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

__global__ void add_one(float* data, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) data[i] += 1.0F;
}
template <class T>
__global__ void scale(T* data, T factor, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) data[i] *= factor;
}

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

void launch(float* data, std::size_t bytes, cudaStream_t stream) {
  const std::size_t n = bytes / sizeof(float);
  add_one<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(data, n);
  CHECK(cudaGetLastError());
  did("kernel");
}

void plain_memory() {
  float* a = nullptr;
  float* b = nullptr;
  CHECK(cudaMalloc(&a, 3 * mib));
  did("device_alloc", 3 * mib);
  CHECK(cudaMalloc(&b, 5 * mib));
  did("device_alloc", 5 * mib);
  std::vector<char> pageable(3 * mib, 1);
  CHECK(cudaMemcpy(a, pageable.data(), 3 * mib, cudaMemcpyHostToDevice));
  did("copy_h2d", 3 * mib);
  CHECK(cudaMemcpy(b, a, 2 * mib, cudaMemcpyDeviceToDevice));
  did("copy_d2d", 2 * mib);
  CHECK(cudaMemset(b, 7, 1 * mib));
  did("memset", 1 * mib);
  launch(a, 3 * mib, nullptr);
  CHECK(cudaMemcpy(pageable.data(), b, 1 * mib, cudaMemcpyDeviceToHost));
  did("copy_d2h", 1 * mib);
  void* pitched = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&pitched, &pitch, 1000, 100));
  did("device_alloc", pitch * 100);
  CHECK(cudaMemcpy2D(pitched, pitch, pageable.data(), 1000, 1000, 100, cudaMemcpyHostToDevice));
  did("copy_h2d", 100000);
  CHECK(cudaMemset2D(pitched, pitch, 1, 1000, 100));
  did("memset", 100000);
  CHECK(cudaFree(pitched));
  CHECK(cudaFree(b));
  CHECK(cudaFree(a));
  did("device_free");
  did("device_free");
  did("device_free");
}

void pinned_memory_and_streams() {
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaEvent_t event = nullptr;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  void* pinned = nullptr;
  void* mapped = nullptr;
  float* device = nullptr;
  CHECK(cudaMallocHost(&pinned, 8 * mib));
  did("host_alloc", 8 * mib);
  CHECK(cudaHostAlloc(&mapped, 1 * mib, cudaHostAllocMapped));
  did("host_alloc", 1 * mib);
  CHECK(cudaMalloc(&device, 8 * mib));
  did("device_alloc", 8 * mib);
  CHECK(cudaMemcpyAsync(device, pinned, 8 * mib, cudaMemcpyHostToDevice, first));
  did("copy_h2d", 8 * mib);
  launch(device, 8 * mib, first);
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(second, event, 0));
  CHECK(cudaMemcpyAsync(pinned, device, 4 * mib, cudaMemcpyDeviceToHost, second));
  did("copy_d2h", 4 * mib);
  CHECK(cudaMemsetAsync(device, 0, 512 * kib, second));
  did("memset", 512 * kib);
  CHECK(cudaStreamSynchronize(second));
  void* registered = std::aligned_alloc(4096, 2 * mib);
  CHECK(cudaHostRegister(registered, 2 * mib, cudaHostRegisterDefault));
  did("host_register", 2 * mib);
  CHECK(cudaMemcpyAsync(device, registered, 2 * mib, cudaMemcpyHostToDevice, second));
  did("copy_h2d", 2 * mib);
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaHostUnregister(registered));
  did("host_unregister");
  std::free(registered);
  CHECK(cudaFree(device));
  did("device_free");
  CHECK(cudaFreeHost(mapped));
  CHECK(cudaFreeHost(pinned));
  did("host_free");
  did("host_free");
  CHECK(cudaEventDestroy(event));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaStreamDestroy(first));
}

void stream_ordered_memory() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* a = nullptr;
  CHECK(cudaMallocAsync(&a, 6 * mib, stream));
  did("async_alloc", 6 * mib);
  launch(static_cast<float*>(a), 6 * mib, stream);
  CHECK(cudaFreeAsync(a, stream));
  did("async_free");

  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  cudaMemPool_t pool = nullptr;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  did("pool_create");
  std::uint64_t threshold = 64 * mib;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  for (int i = 0; i < 4; ++i) {
    void* b = nullptr;
    CHECK(cudaMallocFromPoolAsync(&b, 300 * kib, pool, stream));
    did("async_alloc", 300 * kib);
    CHECK(cudaMemsetAsync(b, 0, 300 * kib, stream));
    did("memset", 300 * kib);
    CHECK(cudaFreeAsync(b, stream));
    did("async_free");
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolDestroy(pool));
  CHECK(cudaStreamDestroy(stream));
}

void managed_memory() {
  float* data = nullptr;
  CHECK(cudaMallocManaged(&data, 4 * mib));
  did("managed_alloc", 4 * mib);
  for (std::size_t i = 0; i < mib; ++i) data[i] = 1.0F;
  launch(data, 4 * mib, nullptr);
  CHECK(cudaDeviceSynchronize());
  volatile float read = data[1000];
  (void)read;
  CHECK(cudaFree(data));
  did("managed_free");
}

void virtual_memory() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 0;
  std::size_t size = 0;
  CHECK(cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemAddressReserve(&address, 2 * size, 0, 0, 0));
  did("address_reserve", 2 * size);
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  did("physical_alloc", size);
  CHECK(cuMemMap(address, size, 0, handle, 0));
  did("map", size);
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(address, size, &access, 1));
  CHECK(cuMemsetD32(address, 5, size / 4));
  did("memset", size);
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(address, size));
  CHECK(cuMemRelease(handle));
  CHECK(cuMemAddressFree(address, 2 * size));
}

/// Releases the handle of physical memory before its two mappings end. The bytes stay until both mappings have ended;
/// one call ends both.
void physical_memory_released_early() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 0;
  std::size_t size = 0;
  CHECK(cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, 2 * size, 0, 0, 0));
  did("address_reserve", 2 * size);
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  did("physical_alloc", size);
  for (int i = 0; i < 2; ++i) {
    CHECK(cuMemMap(address + static_cast<std::size_t>(i) * size, size, 0, handle, 0));
    did("map", size);
  }
  CHECK(cuMemRelease(handle));
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(address, 2 * size, &access, 1));
  CHECK(cuMemUnmap(address, 2 * size));
  CHECK(cuMemAddressFree(address, 2 * size));
}

/// Frees blocks of each allocator by the other allocator's call.
void crossed_frees() {
  void* pooled = nullptr;
  CHECK(cudaMallocAsync(&pooled, 700 * kib, nullptr));
  did("async_alloc", 700 * kib);
  CHECK(cudaStreamSynchronize(nullptr));
  CHECK(cudaFree(pooled));
  did("async_free");
}

/// Destroys a separate context, which frees the context's 1 MiB.
void lost_context() {
  CUcontext before = nullptr;
  CUcontext own = nullptr;
  CHECK(cuCtxGetCurrent(&before));
#if CUDA_VERSION >= 13000
  CHECK(cuCtxCreate(&own, nullptr, 0, 0));
#else
  CHECK(cuCtxCreate(&own, 0, 0));
#endif
  CUdeviceptr lost = 0;
  CHECK(cuMemAlloc(&lost, 1 * mib));
  did("device_alloc", 1 * mib);
  did("context_alloc", 1 * mib);
  CHECK(cuCtxDestroy(own));
  CHECK(cuCtxSetCurrent(before));
}

/// Makes a graph with a memory node of 2 MiB, and one with a memory node of 512 KiB from a captured allocation.
void graph_memory() {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams node{};
  node.poolProps.allocType = cudaMemAllocationTypePinned;
  node.poolProps.location.type = cudaMemLocationTypeDevice;
  node.poolProps.location.id = 0;
  node.bytesize = 2 * mib;
  cudaGraphNode_t allocated = nullptr;
  cudaGraphNode_t freed = nullptr;
  CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &node));
  did("graph_alloc", 2 * mib);
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &allocated, 1, node.dptr));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaGraphLaunch(exec, stream));
  did("graph_launch");
  CHECK(cudaStreamSynchronize(stream));
  usleep(120000);  // Meanwhile the recorder samples the memory of graphs.
  CHECK(cudaGraphExecDestroy(exec));

  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  void* captured = nullptr;
  CHECK(cudaMallocAsync(&captured, 512 * kib, stream));
  did("graph_alloc", 512 * kib);
  CHECK(cudaFreeAsync(captured, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaDeviceGraphMemTrim(0));
}

void arrays() {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &format, 256, 128));
  did("array_alloc", 256 * 128 * 4);
  std::vector<float> host(256 * 128, 2.0F);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, host.data(), 1024, 1024, 128, cudaMemcpyHostToDevice));
  did("copy_h2a", 256 * 128 * 4);
  CHECK(cudaFreeArray(array));
  did("array_free");
}

void graphs() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float* data = nullptr;
  void* pinned = nullptr;
  CHECK(cudaMalloc(&data, 1 * mib));
  did("device_alloc", 1 * mib);
  CHECK(cudaMallocHost(&pinned, 1 * mib));
  did("host_alloc", 1 * mib);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaMemcpyAsync(data, pinned, 1 * mib, cudaMemcpyHostToDevice, stream));
  add_one<<<1024, 256, 0, stream>>>(data, mib / 4);
  scale<float><<<1024, 256, 0, stream>>>(data, 2.0F, mib / 4);
  CHECK(cudaMemsetAsync(data, 0, 64 * kib, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaGraphLaunch(exec, stream));
    did("graph_launch");
    did("graph_kernel");
    did("graph_kernel");
    did("graph_copy_h2d", 1 * mib);
    did("graph_memset", 64 * kib);
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFreeHost(pinned));
  did("host_free");
  CHECK(cudaFree(data));
  did("device_free");
  CHECK(cudaStreamDestroy(stream));
}

void batch_copy() {
#if CUDART_VERSION >= 13000
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  char* device = nullptr;
  char* pinned = nullptr;
  CHECK(cudaMalloc(&device, 1 * mib));
  did("device_alloc", 1 * mib);
  CHECK(cudaMallocHost(&pinned, 1 * mib));
  did("host_alloc", 1 * mib);
  const void* sources[] = {pinned, pinned + 256 * kib, pinned + 512 * kib};
  const void* targets[] = {device, device + 256 * kib, device + 512 * kib};
  const std::size_t sizes[] = {100 * kib, 110 * kib, 120 * kib};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t indices[] = {0};
  CHECK(cuMemcpyBatchAsync(reinterpret_cast<CUdeviceptr*>(targets), reinterpret_cast<CUdeviceptr*>(sources),
                           const_cast<std::size_t*>(sizes), 3, &attributes, indices, 1, stream));
  did("batch_copy_h2d", 100 * kib);
  did("batch_copy_h2d", 110 * kib);
  did("batch_copy_h2d", 120 * kib);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFreeHost(pinned));
  did("host_free");
  CHECK(cudaFree(device));
  did("device_free");
  CHECK(cudaStreamDestroy(stream));
#endif
}

void failed_allocation() {
  void* impossible = nullptr;
  if (cudaMalloc(&impossible, std::size_t{1} << 46) != cudaErrorMemoryAllocation) {
    std::fprintf(stderr, "journal_program: an allocation of 64 TiB should have failed\n");
    std::exit(1);
  }
  cudaGetLastError();
  did("failed_alloc", std::size_t{1} << 46);
}

void two_threads() {
  const auto work = [] {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 10; ++i) {
      const std::size_t bytes = (64 + static_cast<std::size_t>(i)) * kib;
      float* data = nullptr;
      CHECK(cudaMalloc(&data, bytes));
      did("device_alloc", bytes);
      launch(data, bytes, stream);
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaFree(data));
      did("device_free");
    }
    CHECK(cudaStreamDestroy(stream));
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
}

void leak() {
  void* lost = nullptr;
  CHECK(cudaMalloc(&lost, 7 * mib));
  did("device_alloc", 7 * mib);
}

}  // namespace

int main(int argc, char** argv) {
  plain_memory();
  pinned_memory_and_streams();
  stream_ordered_memory();
  managed_memory();
  virtual_memory();
  physical_memory_released_early();
  crossed_frees();
  lost_context();
  graph_memory();
  arrays();
  graphs();
  batch_copy();
  failed_allocation();
  two_threads();
  leak();
  CHECK(cudaDeviceSynchronize());
  // JOURNAL_PROGRAM_WAIT: stay alive until killed, with all work done and 7 MiB allocated.
  if (std::getenv("JOURNAL_PROGRAM_WAIT") != nullptr) {
    std::puts("waiting");
    std::fflush(stdout);
    for (;;) pause();
  }
  std::FILE* out = argc > 1 ? std::fopen(argv[1], "w") : stdout;
  if (out == nullptr) return 2;
  for (const auto& [name, e] : ledger)
    std::fprintf(out, "%s %llu %llu\n", name.c_str(), static_cast<unsigned long long>(e.count),
                 static_cast<unsigned long long>(e.bytes));
  return 0;
}
