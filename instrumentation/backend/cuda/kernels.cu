// Device code of the kernels declared in runtime/kernel.hpp. Grid-stride loops: every grid gives the same result.

#include <cuda_pipeline.h>

#include <cstdint>

extern "C" __global__ void affine_u32(std::uint32_t* data, std::uint64_t count, std::uint32_t multiplier,
                                      std::uint32_t increment, std::uint32_t rounds) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint32_t x = data[i];
    for (std::uint32_t r = 0; r < rounds; ++r) x = x * multiplier + increment;
    data[i] = x;
  }
}

extern "C" __global__ void add_u32(std::uint32_t* out, const std::uint32_t* a, const std::uint32_t* b,
                                   std::uint64_t count) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = a[i] + b[i];
  }
}

// out[i] = the sum of in[i - radius] .. in[i + radius], with the end values repeated. Each block loads its next tile
// into dynamic shared memory while it computes the current one: 2 * (blockDim.x + 2 * radius) words.
extern "C" __global__ void stencil_u32(std::uint32_t* out, const std::uint32_t* in, std::uint64_t count,
                                       std::uint32_t radius) {
  extern __shared__ std::uint32_t staging[];
  const std::uint32_t width = blockDim.x + 2 * radius;
  const std::uint64_t tiles = (count + blockDim.x - 1) / blockDim.x;
  const auto fetch = [&](std::uint64_t tile, std::uint32_t* to) {
    const std::int64_t first = static_cast<std::int64_t>(tile * blockDim.x) - radius;
    for (std::uint32_t i = threadIdx.x; i < width; i += blockDim.x) {
      const std::int64_t at = first + i, last = static_cast<std::int64_t>(count) - 1;
      __pipeline_memcpy_async(&to[i], &in[at < 0 ? 0 : at > last ? last : at], sizeof(std::uint32_t));
    }
  };
  std::uint64_t tile = blockIdx.x;
  if (tile < tiles) fetch(tile, staging);
  __pipeline_commit();
  for (std::uint32_t turn = 0; tile < tiles; tile += gridDim.x, turn ^= 1) {
    if (tile + gridDim.x < tiles) fetch(tile + gridDim.x, staging + (turn ^ 1) * width);
    __pipeline_commit();
    __pipeline_wait_prior(1);  // all but the load just started
    __syncthreads();
    const std::uint64_t i = tile * blockDim.x + threadIdx.x;
    const std::uint32_t* window = staging + turn * width + threadIdx.x;
    if (i < count) {
      std::uint32_t sum = 0;
      for (std::uint32_t j = 0; j <= 2 * radius; ++j) sum += window[j];
      out[i] = sum;
    }
    __syncthreads();  // before this half is overwritten
  }
}

// The same sums without shared memory: each thread reads all its words from global memory.
extern "C" __global__ void stencil_direct_u32(std::uint32_t* out, const std::uint32_t* in, std::uint64_t count,
                                              std::uint32_t radius) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    std::uint32_t sum = 0;
    for (std::int64_t j = -static_cast<std::int64_t>(radius); j <= radius; ++j) {
      const std::int64_t at = static_cast<std::int64_t>(i) + j, last = static_cast<std::int64_t>(count) - 1;
      sum += in[at < 0 ? 0 : at > last ? last : at];
    }
    out[i] = sum;
  }
}
