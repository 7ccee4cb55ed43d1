#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// Copies that one call asks for many of: cuMemcpyBatchAsync and cuMemcpy3DBatchAsync. CUPTI tells what the device did as one
/// record (13.0) or as one for each; what was copied where only the call's parameters say.
namespace sluice::capture {

// Their parameters. The first versions have an out-pointer more than the second; headers before CUDA 12.8 know neither.
struct batch_params {
  const CUdeviceptr* destinations;
  const CUdeviceptr* sources;
  const std::size_t* sizes;
  std::size_t count;
  const void* attributes;
  const std::size_t* attribute_indices;
  std::size_t attribute_count;
};
struct batch_params_v1 : batch_params {
  std::size_t* failed;
  CUstream stream;
};
struct batch_params_v2 : batch_params {
  CUstream stream;
};

/// One end of a copy of a cuMemcpy3DBatchAsync. `place`: an address, or an array's handle.
struct shaped_end {
  std::uint32_t type;
  std::uint64_t place;
  std::uint64_t rest[3];
};
struct shaped_copy {
  shaped_end source, destination;
  std::size_t width, height, depth;  ///< In elements; bytes if both ends are addresses.
  std::uint32_t order, flags;
};
struct shaped_batch_params_v1 {
  std::size_t count;
  const shaped_copy* copies;
  std::size_t* failed;
  unsigned long long flags;
  CUstream stream;
};
struct shaped_batch_params_v2 {
  std::size_t count;
  const shaped_copy* copies;
  unsigned long long flags;
  CUstream stream;
};

/// At the exit of such a call: sends what it copied where, at most 4096 copies of it, and returns the whole. A batch of one is an
/// ordinary copy; one under capture touches its blocks as a graph's node. O(copies).
[[nodiscard]] work tell_batch(const call& c, const batch_params& p, CUstream stream);
[[nodiscard]] work tell_batch(const call& c, const shaped_copy* copies, std::size_t count, CUstream stream);

}  // namespace sluice::capture
