// bench_calls: what one CUDA call costs on the host, in ns: the median of batches. One JSON line.
//
//   bench_calls [BATCHES]     run it bare and recorded, interleaved, and compare (tests/device/bench-capture does)

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t result = (call);                                                    \
    if (result != cudaSuccess) {                                                          \
      std::fprintf(stderr, "bench_calls:%d: %s\n", __LINE__, cudaGetErrorString(result)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (false)

__global__ void nothing() {}

static double median_ns(int batches, int calls, const std::function<void()>& one,
                        const std::function<void()>& between) {
  std::vector<double> times;
  for (int b = 0; b < batches; ++b) {
    between();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) one();
    const auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::nano>(end - begin).count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[batches / 2];
}

int main(int argc, char** argv) {
  const int batches = argc > 1 ? std::atoi(argv[1]) : 101;
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* device = nullptr;
  void* pinned = nullptr;
  CHECK(cudaMalloc(&device, 1 << 20));
  CHECK(cudaMallocHost(&pinned, 1 << 20));
  const auto drain = [&] { CHECK(cudaStreamSynchronize(stream)); };
  // Fewer calls a batch than the queue holds: the device does not set the pace.
  const double launch = median_ns(
      batches, 500, [&] { nothing<<<1, 32, 0, stream>>>(); }, drain);
  const double copy = median_ns(
      batches, 200, [&] { CHECK(cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyHostToDevice, stream)); }, drain);
  const double set = median_ns(
      batches, 200, [&] { CHECK(cudaMemsetAsync(device, 0, 4096, stream)); }, drain);
  const double allocate = median_ns(
      batches, 100,
      [&] {
        void* p = nullptr;
        CHECK(cudaMalloc(&p, 1 << 20));
        CHECK(cudaFree(p));
      },
      drain);
  const double allocate_async = median_ns(
      batches, 200,
      [&] {
        void* p = nullptr;
        CHECK(cudaMallocAsync(&p, 4096, stream));
        CHECK(cudaFreeAsync(p, stream));
      },
      drain);
  std::printf(
      "{\"launch\": %.0f, \"copy\": %.0f, \"memset\": %.0f, \"malloc_free\": %.0f, \"malloc_free_async\": %.0f}\n",
      launch, copy, set, allocate, allocate_async);
  return 0;
}
