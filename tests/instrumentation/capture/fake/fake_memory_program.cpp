// fake_memory_program: unusual allocations and frees, by calls to the fake driver.
//
//   fake_memory_program HOW      each function documents one value of HOW; status 0 if every call succeeded as expected

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/instrumentation/capture/fake/flush_thread.hpp"

#undef cuMemAlloc
#undef cuMemFree
#undef cuMemcpy2D
#undef cuIpcOpenMemHandle
#undef cuDevicePrimaryCtxReset

// The names that the driver exports, in case an older header does not map to them.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D*);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr*, CUipcMemHandle, unsigned);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice);
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
}

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "fake_memory_program: %s: %d\n", call, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check((call), #call)

void use_device() {
  CHECK(cuInit(0));
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
}

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc_v2(&address, bytes));
  return address;
}

/// Frees 3 MiB, then resets the context, which frees 1 MiB and 2 MiB; virtual addresses stay reserved.
void reset() {
  allocate(1 * mib);
  CUdeviceptr pooled = 0;
  CHECK(cuMemAllocAsync(&pooled, 2 * mib, nullptr));
  CHECK(cuMemFree_v2(allocate(3 * mib)));
  CUdeviceptr reserved = 0;
  CHECK(cuMemAddressReserve(&reserved, 4 * mib, 0, 0, 0));
  CHECK(cuDevicePrimaryCtxReset_v2(0));
}

/// Two graphs of 1 MiB each: one is used after its definition is destroyed, the other is never used.
void graph() {
  const auto define = [] {
    CUgraph graph_handle = nullptr;
    CHECK(cuGraphCreate(&graph_handle, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS node{};
    node.bytesize = 1 * mib;
    CUgraphNode out = nullptr;
    CHECK(cuGraphAddMemAllocNode(&out, graph_handle, nullptr, 0, &node));
    return graph_handle;
  };
  const CUgraph used = define();
  CUgraphExec ready = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&ready, used, 0));
  CHECK(cuGraphDestroy(used));
  allocate(2 * mib);  // Marks a time at which the first graph's memory is still allocated.
  CHECK(cuGraphExecDestroy(ready));
  CHECK(cuGraphDestroy(define()));
  sluice::fake::wait_for_flush(120'000);  // Meanwhile the recorder samples the pool.
}

/// Maps physical memory twice and releases its handle first. Then retains the handle through a mapping, which keeps the
/// memory once more.
void physical() {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemAddressReserve(&address, 4 * mib, 0, 0, 0));
  CHECK(cuMemCreate(&handle, 2 * mib, nullptr, 0));
  CHECK(cuMemMap(address, 2 * mib, 0, handle, 0));
  CHECK(cuMemMap(address + 2 * mib, 2 * mib, 0, handle, 0));
  CHECK(cuMemSetAccess(address, 4 * mib, nullptr, 0));
  CUmemGenericAllocationHandle again = 0;
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address)));
  CHECK(cuMemRelease(again));
  CHECK(cuMemRelease(handle));
  allocate(1 * mib);  // Marks a time at which the bytes are still there.
  CHECK(cuMemUnmap(address, 4 * mib));
  CHECK(cuMemAddressFree(address, 4 * mib));
}

/// The device's default pool keeps 64 MiB with nothing in use, as JAX makes it do.
void reserve() {
  CUmemoryPool pool = nullptr;
  CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
  cuuint64_t whole = ~cuuint64_t{0};
  CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &whole));
  sluice::fake::wait_for_flush(120'000);  // Meanwhile the recorder samples the device's memory without the pool's.
  CUdeviceptr address = 0;
  CHECK(cuMemAllocFromPoolAsync(&address, 64 * mib, pool, nullptr));
  CHECK(cuMemFreeAsync(address, nullptr));
  CHECK(cuStreamSynchronize(nullptr));
  sluice::fake::wait_for_flush(200'000);
}

/// Frees each block by the call that belongs to the other.
void crossed() {
  CUdeviceptr pooled = 0;
  CHECK(cuMemAllocAsync(&pooled, 1 * mib, nullptr));
  CHECK(cuMemFree_v2(pooled));
  CHECK(cuMemFreeAsync(allocate(2 * mib), nullptr));
}

/// Another process's memory, opened twice and closed twice.
void ipc() {
  const CUdeviceptr there = allocate(5 * mib) + 4096;  // Stands in for the address of another process's memory.
  CUipcMemHandle handle{};
  std::memcpy(&handle, &there, sizeof there);
  CUdeviceptr address = 0;
  CHECK(cuIpcOpenMemHandle_v2(&address, handle, 0));
  CHECK(cuIpcOpenMemHandle_v2(&address, handle, 0));
  CHECK(cuIpcCloseMemHandle(address));
  CHECK(cuMemFree_v2(allocate(1 * mib)));  // Marks this time in the recording.
  CHECK(cuIpcCloseMemHandle(address));
}

/// Calls that return nothing.
void failing() {
  CUdeviceptr address = 0;
  void* host = nullptr;
  if (cuMemAlloc_v2(&address, std::size_t{1} << 46) == CUDA_SUCCESS) std::exit(1);
  if (cuMemAllocAsync(&address, std::size_t{1} << 46, nullptr) == CUDA_SUCCESS) std::exit(1);
  if (cuMemAllocManaged(&address, std::size_t{1} << 46, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) std::exit(1);
  if (cuMemHostAlloc(&host, std::size_t{1} << 46, 0) == CUDA_SUCCESS) std::exit(1);
  CUipcMemHandle none{};
  if (cuIpcOpenMemHandle_v2(&address, none, 0) == CUDA_SUCCESS) std::exit(1);
}

/// Emits more events at once than a small ring holds, and again once there is room.
void flood() {
  std::vector<CUdeviceptr> kept;
  for (int i = 0; i < 50; ++i) kept.push_back(allocate(4096));
  for (int i = 0; i < 20'000; ++i) CHECK(cuMemFree_v2(allocate(64)));
  for (int i = 0; i < 25; ++i) CHECK(cuMemFree_v2(kept[static_cast<std::size_t>(i)]));
  for (int i = 0; i < 20'000; ++i) CHECK(cuMemFree_v2(allocate(64)));
  sluice::fake::wait_for_flush(400'000);
  allocate(1 * mib);
}

/// Copies in each direction, a memset, and more copies than are timed.
void copies() {
  const CUdeviceptr device = allocate(2 * mib);
  const CUdeviceptr other = allocate(2 * mib);
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, mib, 0));
  std::vector<char> plain(mib, 'x');
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemcpyHtoD_v2(device, plain.data(), 1000));
  CHECK(cuMemcpyHtoDAsync_v2(device, pinned, mib, stream));
  CHECK(cuMemcpyDtoDAsync_v2(other, device, 2 * mib, stream));
  CHECK(cuMemcpyDtoHAsync_v2(pinned, other, 3000, stream));
  CHECK(cuMemcpyAsync(device, reinterpret_cast<CUdeviceptr>(pinned), 4000, stream));
  CHECK(cuMemsetD8Async(device, 7, 5000, stream));
  CHECK(cuStreamSynchronize(stream));
  for (int i = 0; i < 2000; ++i) CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 64, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoD_v2(other, device, 128 * 1024));
  int array = 0;  // The handle is opaque: only the driver knows what it points to.
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = plain.data();
  rows.srcPitch = rows.WidthInBytes = 100;
  rows.Height = 60;
  rows.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  rows.dstArray = reinterpret_cast<CUarray>(&array);
  CHECK(cuMemcpy2D_v2(&rows));
  CHECK(cuStreamDestroy_v2(stream));
}

void managed() {
  CUdeviceptr address = 0;
  CHECK(cuMemAllocManaged(&address, 3 * mib, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemFree_v2(address));
}

/// Calls driver functions that were looked up by dlsym or through the driver.
void looked_up() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto by_name = reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(dlsym(library, "cuMemAlloc_v2"));
  const auto ask =
      reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*)>(
          dlsym(library, "cuGetProcAddress_v2"));
  if (by_name == nullptr || ask == nullptr) std::exit(1);
  CUresult (*by_query)(CUdeviceptr*, std::size_t) = nullptr;
  CHECK(ask("cuMemAlloc", reinterpret_cast<void**>(&by_query), 13000, 0, nullptr));
  CUdeviceptr address = 0;
  CHECK(by_name(&address, 1 * mib));
  CHECK(by_query(&address, 2 * mib));
  // Functions of other libraries are found as before, including with RTLD_NEXT; names that do not exist are not found.
  if (dlsym(RTLD_NEXT, "malloc") == nullptr || dlsym(RTLD_DEFAULT, "printf") == nullptr) std::exit(1);
  if (dlsym(library, "cuMemAlloc_v99") != nullptr || dlerror() == nullptr) std::exit(1);
  if (dlsym(RTLD_NEXT, "no_such_function") != nullptr || dlerror() == nullptr) std::exit(1);
}

/// Copies during a stream capture: into it, on another stream, and on the legacy default stream. Identified by size.
void beside_a_capture() {
  const CUdeviceptr device = allocate(4 * mib);
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, 4 * mib, 0));
  CUstream captured = nullptr;
  CUstream other = nullptr;
  CHECK(cuStreamCreate(&captured, 0));
  CHECK(cuStreamCreate(&other, 0));
  CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 1 * mib, other));
  CHECK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 2 * mib, captured));
  CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 3 * mib, other));
  CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 4 * mib, nullptr));
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(captured, &graph));
  CHECK(cuStreamSynchronize(other));
}

/// Allocates 1 MiB normally, and 2 MiB by `function` of a library loaded with `flags`, which bypasses preloaded
/// libraries.
CUdeviceptr go_around(const char* function, int flags) {
  allocate(1 * mib);
  void* library = dlopen("libfake_around.so", RTLD_NOW | flags);
  if (library == nullptr) std::exit(77);
  const auto by = reinterpret_cast<CUdeviceptr (*)(std::size_t)>(dlsym(library, function));
  const CUdeviceptr address = by == nullptr ? 0 : by(2 * mib);
  if (address == 0) std::exit(1);
  return address;
}
void around_by_linkage() { go_around("allocate_by_linkage", RTLD_DEEPBIND); }
void around_by_variable() { go_around("allocate_by_variable", 0); }
/// Uses the library of `go_around`, but lets it call through preloaded libraries as usual.
void around_not_at_all() { go_around("allocate_by_linkage", 0); }
/// An allocation that bypasses the recorder and is freed normally; and a free that fails.
void around_and_back() {
  CHECK(cuMemFree_v2(go_around("allocate_by_heap", 0)));
  if (cuMemFree_v2(4096) == CUDA_SUCCESS) std::exit(1);
}
void only_failing_frees() {
  const CUdeviceptr address = allocate(1 * mib);
  CHECK(cuMemFree_v2(address));
  if (cuMemFree_v2(address) == CUDA_SUCCESS || cuMemFree_v2(4096) == CUDA_SUCCESS) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> ways{{"reset", reset},
                                               {"graph", graph},
                                               {"physical", physical},
                                               {"reserve", reserve},
                                               {"crossed", crossed},
                                               {"ipc", ipc},
                                               {"failing", failing},
                                               {"flood", flood},
                                               {"copies", copies},
                                               {"managed", managed},
                                               {"looked_up", looked_up},
                                               {"beside_a_capture", beside_a_capture},
                                               {"around_by_linkage", around_by_linkage},
                                               {"around_by_variable", around_by_variable},
                                               {"around_not_at_all", around_not_at_all},
                                               {"around_and_back", around_and_back},
                                               {"only_failing_frees", only_failing_frees}};
  const auto way = ways.find(argc > 1 ? argv[1] : "");
  if (way == ways.end()) return 2;
  use_device();
  way->second();
  return 0;
}
