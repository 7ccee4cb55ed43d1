// duplicates: copies with known contents to the device and back, from each kind of host memory. run-duplicates records
// this program and knows the expected results.

#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                      \
  do {                                                                                   \
    const cudaError_t result = (call);                                                   \
    if (result != cudaSuccess) {                                                         \
      std::fprintf(stderr, "duplicates:%d: %s\n", __LINE__, cudaGetErrorString(result)); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (false)

constexpr size_t mib = size_t{1} << 20;

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

static void fill(void* memory, size_t bytes, unsigned seed) {
  auto* const words = static_cast<unsigned*>(memory);
  for (size_t i = 0; i < bytes / sizeof(unsigned); ++i) words[i] = static_cast<unsigned>(i) * 2654435761U + seed;
}

int main() {
  void* device = nullptr;
  CHECK(cudaMalloc(&device, 8 * mib));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto copy = [&](const void* from, size_t bytes, cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    CHECK(cudaMemcpy(device, from, bytes, kind));
  };
  const auto copy_async = [&](const void* from, size_t bytes) {
    CHECK(cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
  };

  // Exact: 1 and 2 repeats.
  std::vector<unsigned> small(250, 5);
  for (int i = 0; i < 3; ++i) copy(small.data(), 1000);

  // Pinned: 1 and a repeat, then different content.
  void* pinned = nullptr;
  CHECK(cudaMallocHost(&pinned, 4 * mib));
  fill(pinned, 4 * mib, 1);
  copy_async(pinned, 4 * mib);
  copy_async(pinned, 4 * mib);
  fill(pinned, 4 * mib, 2);
  copy_async(pinned, 4 * mib);

  // Registered: the first pinned content from another address, which is a repeat.
  void* registered = aligned_alloc(4096, 4 * mib);
  fill(registered, 4 * mib, 1);
  CHECK(cudaHostRegister(registered, 4 * mib, cudaHostRegisterDefault));
  copy_async(registered, 4 * mib);

  // A mapped file: 1 and a repeat.
  char path[] = "/tmp/sluice-duplicates-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  std::vector<unsigned> content(2 * mib / sizeof(unsigned));
  fill(content.data(), 2 * mib, 3);
  if (write(file, content.data(), 2 * mib) != static_cast<ssize_t>(2 * mib)) return 1;
  const void* mapped = mmap(nullptr, 2 * mib, PROT_READ, MAP_SHARED, file, 0);
  copy(mapped, 2 * mib);
  copy(mapped, 2 * mib);

  // Pageable, with a copy kind that leaves the driver to find out that it is host memory: 1 and a repeat.
  std::vector<unsigned> pageable(3 * mib / sizeof(unsigned));
  fill(pageable.data(), 3 * mib, 4);
  copy(pageable.data(), 3 * mib, cudaMemcpyDefault);
  copy(pageable.data(), 3 * mib, cudaMemcpyDefault);

  // Rows: 1 and a repeat.
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaMemcpy2D(device, 1024, pageable.data(), 2048, 1024, 256, cudaMemcpyHostToDevice));
  }

  // In a graph: not hashed.
  void* of_graph = nullptr;
  CHECK(cudaMallocHost(&of_graph, 5 * mib));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CHECK(cudaMemcpyAsync(device, of_graph, 5 * mib, cudaMemcpyHostToDevice, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(ready, stream));
  CHECK(cudaStreamSynchronize(stream));

  // The device writes into the source after the second copy was enqueued, so that copy only looks like a repeat.
  void* offloaded = nullptr;
  CHECK(cudaMallocHost(&offloaded, 6 * mib));
  fill(offloaded, 6 * mib, 6);
  copy_async(offloaded, 6 * mib);
  CHECK(cudaMemset(device, 7, 6 * mib));
  CHECK(cudaDeviceSynchronize());
  spin<<<1, 1, 0, stream>>>(100'000'000);
  CHECK(cudaMemcpyAsync(offloaded, device, 6 * mib, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaMemcpyAsync(device, offloaded, 6 * mib, cudaMemcpyHostToDevice, stream));
  CHECK(cudaStreamSynchronize(stream));

  // Copied back and to the device again unchanged. Each has its own content, which is made on the device.
  const auto make = [&](int value, size_t bytes) {
    CHECK(cudaMemset(device, value, bytes));
    CHECK(cudaDeviceSynchronize());
  };
  std::vector<char> plain(7 * mib);
  for (const size_t bytes : {7 * mib, size_t{1000}}) {  // Pageable; the hash of the second is exact.
    make(0x21, bytes);
    CHECK(cudaMemcpy(plain.data(), device, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(device, plain.data(), bytes, cudaMemcpyHostToDevice));
  }
  // Page-locked, with each way to wait for it: 4 round trips.
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  void* locked = nullptr;
  CHECK(cudaMallocHost(&locked, 5 * mib));
  for (int way = 0; way < 4; ++way) {
    make(0x30 + way, 5 * mib);
    CHECK(cudaMemcpyAsync(locked, device, 5 * mib, cudaMemcpyDeviceToHost, stream));
    if (way == 0) CHECK(cudaStreamSynchronize(stream));
    if (way == 1) {
      while (cudaStreamQuery(stream) == cudaErrorNotReady) {
      }
    }
    if (way >= 2) CHECK(cudaEventRecord(event, stream));
    if (way == 2) CHECK(cudaEventSynchronize(event));
    if (way == 3) {
      while (cudaEventQuery(event) == cudaErrorNotReady) {
      }
    }
    copy_async(locked, 5 * mib);
  }
  // Changed by the host before it returns: not a round trip.
  make(0x40, 5 * mib);
  CHECK(cudaMemcpyAsync(locked, device, 5 * mib, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::memset(locked, 0x41, 5 * mib);
  copy_async(locked, 5 * mib);
  // Freed before a wait is observed: not hashed.
  CHECK(cudaMemcpyAsync(locked, device, 5 * mib, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeHost(locked));

  // Zeros: two sampled, one exact. Then mixed values between zeros, which are not zeros.
  std::vector<float> zeros(6 * mib / sizeof(float));
  copy(zeros.data(), 6 * mib);
  copy(zeros.data(), 6 * mib);
  copy(zeros.data(), 1000);
  for (size_t i = 5000; i < zeros.size(); i += 16384) zeros[i] = 1;
  copy(zeros.data(), 6 * mib);

  // Write-combined memory may or may not be readable by the kernel; managed memory is not read.
  void* combined = nullptr;
  CHECK(cudaHostAlloc(&combined, 1 * mib, cudaHostAllocWriteCombined));
  std::memset(combined, 9, 1 * mib);
  copy_async(combined, 1 * mib);
  void* managed = nullptr;
  CHECK(cudaMallocManaged(&managed, 512 << 10));
  std::memset(managed, 1, 512 << 10);
  copy(managed, 512 << 10);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
