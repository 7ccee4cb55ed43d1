#pragma once

#include <cuda.h>

#include <cstdint>

/// The addresses of 2D and 3D copies. These templates take CUDA_MEMCPY2D, CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER, which
/// use the same member names.
namespace sluice::capture {

template <class Copy>
std::uint64_t source_of(const Copy& copy) {
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
std::uint64_t destination_of(const Copy& copy) {
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
