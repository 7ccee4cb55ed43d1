// Shared by the C++ programs of this folder: checked calls, counted allocations, a timer, and a list of programs.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#define CHECK(call)                                                                                   \
  do {                                                                                                \
    const cudaError_t error_ = (call);                                                                \
    if (error_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                                   \
    }                                                                                                 \
  } while (0)

// Macros, so that a call's source line is in the program itself.
#define DEVICE_ALLOC(pointer, bytes)                                  \
  do {                                                                \
    CHECK(cudaMalloc(reinterpret_cast<void**>(&(pointer)), (bytes))); \
    measure::allocated(pointer, bytes);                               \
  } while (0)
#define DEVICE_FREE(pointer)  \
  do {                        \
    measure::freed(pointer);  \
    CHECK(cudaFree(pointer)); \
  } while (0)
#define DEVICE_ALLOC_ASYNC(pointer, bytes, stream)                                   \
  do {                                                                               \
    CHECK(cudaMallocAsync(reinterpret_cast<void**>(&(pointer)), (bytes), (stream))); \
    measure::allocated(pointer, bytes);                                              \
  } while (0)
#define DEVICE_FREE_ASYNC(pointer, stream)     \
  do {                                         \
    measure::freed(pointer);                   \
    CHECK(cudaFreeAsync((pointer), (stream))); \
  } while (0)

namespace measure {

constexpr std::size_t mib = std::size_t{1} << 20;

struct counted_memory {
  std::unordered_map<const void*, std::size_t> blocks;  ///< Sizes in bytes, by address.
  std::size_t live = 0;
  std::size_t peak = 0;
};
inline counted_memory memory;

inline void allocated(const void* address, std::size_t bytes) {
  memory.blocks[address] = bytes;
  memory.live += bytes;
  memory.peak = std::max(memory.peak, memory.live);
}

inline void freed(const void* address) {
  const auto found = memory.blocks.find(address);
  if (found == memory.blocks.end()) return;
  memory.live -= found->second;
  memory.blocks.erase(found);
}

/// Times the work between start() and stop(), with an idle device at both ends.
class timer {
 public:
  void start() {
    CHECK(cudaDeviceSynchronize());
    begin_ = std::chrono::steady_clock::now();
  }
  void stop() {
    CHECK(cudaDeviceSynchronize());
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin_;
    times_.push_back(passed.count());
    cudaMemPool_t pool{};
    std::uint64_t held = 0;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &held));
    reserved_ = std::max<std::size_t>(held, memory.live);
  }
  [[nodiscard]] double median() const {
    std::vector<double> sorted(times_.begin() + (times_.size() > 1), times_.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }
  [[nodiscard]] std::size_t reserved() const { return reserved_; }

 private:
  std::chrono::steady_clock::time_point begin_;
  std::vector<double> times_;  ///< In ms; the first is omitted if there are more.
  std::size_t reserved_ = 0;   ///< In bytes.
};

struct listed_program {
  void (*run)(bool faulty, timer& clock);
  bool clean;  ///< The program has no faulty variant.
};
inline std::map<std::string, listed_program>& programs() {
  static std::map<std::string, listed_program> all;
  return all;
}
struct registration {
  registration(const char* name, listed_program program) { programs()[name] = program; }
};

#define PROGRAM(name)                                                      \
  static void name(bool faulty, measure::timer& timer);                    \
  static const measure::registration name##_listed{#name, {&name, false}}; \
  static void name(bool faulty, measure::timer& timer)
#define CLEAN_PROGRAM(name)                                               \
  static void name(bool, measure::timer& timer);                          \
  static const measure::registration name##_listed{#name, {&name, true}}; \
  static void name(bool, measure::timer& timer)

/// Computes for a while: `rounds` dependent multiply-adds for each of n floats. `out` may be `in`.
static __global__ void work(float* out, const float* in, std::size_t n, int rounds) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x) {
    float value = in[i];
    for (int round = 0; round < rounds; ++round) value = value * 0.999F + 0.001F;
    out[i] = value;
  }
}

static inline void launch_work(float* out, const float* in, std::size_t bytes, int rounds,
                               cudaStream_t stream = nullptr) {
  work<<<2048, 256, 0, stream>>>(out, in, bytes / sizeof(float), rounds);
  CHECK(cudaGetLastError());
}

/// Host memory with resident pages, filled with a value.
inline float* filled_host(std::size_t bytes, float value) {
  auto* memory = static_cast<float*>(std::malloc(bytes));
  std::fill_n(memory, bytes / sizeof(float), value);
  return memory;
}
inline float* filled_pinned(std::size_t bytes, float value) {
  float* memory = nullptr;
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&memory), bytes));
  std::fill_n(memory, bytes / sizeof(float), value);
  return memory;
}

}  // namespace measure
