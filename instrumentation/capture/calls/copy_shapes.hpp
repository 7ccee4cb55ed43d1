#pragma once

#include <cuda.h>

#include <cstdint>

/// Templates that compute the addresses of 2D and 3D copies from the copies' parameters. They take CUDA_MEMCPY2D,
/// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER, which use the same member names.
namespace sluice::capture {

template <class Copy>
std::uint64_t get_source(const Copy& copy) {
  switch (copy.srcMemoryType) {
    case CU_MEMORYTYPE_HOST:
      return reinterpret_cast<std::uint64_t>(copy.srcHost);
    case CU_MEMORYTYPE_ARRAY:
      return reinterpret_cast<std::uint64_t>(copy.srcArray);
    default:
      return copy.srcDevice;
  }
}
template <class Copy>
std::uint64_t get_destination(const Copy& copy) {
  switch (copy.dstMemoryType) {
    case CU_MEMORYTYPE_HOST:
      return reinterpret_cast<std::uint64_t>(copy.dstHost);
    case CU_MEMORYTYPE_ARRAY:
      return reinterpret_cast<std::uint64_t>(copy.dstArray);
    default:
      return copy.dstDevice;
  }
}

}  // namespace sluice::capture
