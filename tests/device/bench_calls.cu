// bench_calls: the host time of one CUDA call in ns: the median of batches. One JSON line.
//
//   bench_calls [BATCHES]     run it bare and recorded, interleaved, and compare (tests/device/bench-capture does)
//   bench_calls --wait        print {"ready"}, and measure once for each input line (tests/device/bench_recorder.py)

#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

static constexpr size_t largest_copy = size_t{64} << 20;

__global__ void nothing() {}
__global__ void names_two(const float*, float*, int) {}

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

/// Times the call for one copy from pinned memory, and the whole copy: for the latter, the host waits for the device
/// after every few copies.
static double copy_ns(int batches, cudaStream_t stream, void* device, void* pinned, size_t bytes,
                      const std::function<void()>& between) {
  const int calls = bytes <= 4096 ? 200 : bytes <= (1 << 20) ? 50 : 4;
  return median_ns(
             batches, 1,
             [&] {
               for (int i = 0; i < calls; ++i)
                 CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream));
               CHECK(cudaStreamSynchronize(stream));
             },
             between) /
         calls;
}

static void measure(int batches, cudaStream_t stream, void* device, void* pinned) {
  // A pause between batches, in which a recorder can process its events: endless bursts lose events.
  const auto drain = [&] {
    CHECK(cudaStreamSynchronize(stream));
    usleep(1000);
  };
  // Fewer calls per batch than the queue holds, so that the device does not limit the rate.
  const double launch = median_ns(
      batches, 500, [&] { nothing<<<1, 32, 0, stream>>>(); }, drain);
  auto* const floats = static_cast<float*>(device);
  const double launch_touching = median_ns(
      batches, 500, [&] { names_two<<<1, 32, 0, stream>>>(floats, floats + 1000, 7); }, drain);
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
  // Completed, not only enqueued: a recorder's work during the call may or may not overlap with a large copy.
  const double copied[] = {copy_ns(batches, stream, device, pinned, 4096, drain),
                           copy_ns(batches, stream, device, pinned, size_t{1} << 20, drain),
                           copy_ns(batches, stream, device, pinned, largest_copy, drain)};
  std::printf(
      "{\"copied_4k\": %.0f, \"copied_1m\": %.0f, \"copied_64m\": %.0f, \"launch\": %.0f, \"launch_touching\": %.0f, "
      "\"copy\": %.0f, \"memset\": %.0f, \"malloc_free\": %.0f, "
      "\"malloc_free_async\": %.0f}\n",
      copied[0], copied[1], copied[2], launch, launch_touching, copy, set, allocate, allocate_async);
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  const bool wait = argc > 1 && std::strcmp(argv[1], "--wait") == 0;
  const int batches = argc > 1 && !wait ? std::atoi(argv[1]) : wait ? 21 : 101;
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* device = nullptr;
  void* pinned = nullptr;
  CHECK(cudaMalloc(&device, largest_copy));
  CHECK(cudaMallocHost(&pinned, largest_copy));
  std::memset(pinned, 1, largest_copy);
  if (!wait) {
    measure(batches, stream, device, pinned);
    return 0;
  }
  std::puts("{\"ready\": 1}");
  std::fflush(stdout);
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) measure(batches, stream, device, pinned);
  return 0;
}
