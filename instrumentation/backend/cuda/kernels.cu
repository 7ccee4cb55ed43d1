// The device bodies of the kernels that runtime/kernel.hpp declares. Grid-stride loops: any grid gives the same result.

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
