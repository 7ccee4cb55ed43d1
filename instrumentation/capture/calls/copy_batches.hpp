#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/process/calls.hpp"

/// Records the calls that make many copies, cuMemcpyBatchAsync and cuMemcpy3DBatchAsync. CUPTI reports a batch as one
/// record (13.0) or as one record per copy, without addresses. The addresses are known only from the call's parameters.
namespace sluice::capture {

// Parameters of cuMemcpyBatchAsync. Version 1 of the function has one more output parameter. Headers before CUDA 12.8
// have neither version.
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

/// One end of a copy in cuMemcpy3DBatchAsync. `place` is an address or an array handle.
struct shaped_end {
  std::uint32_t type;
  std::uint64_t place;
  std::uint64_t rest[3];
};
struct shaped_copy {
  shaped_end source, destination;
  std::size_t width, height, depth;  ///< In elements; in bytes if both ends are addresses.
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

/// Call at the exit of a batch call. Records the addresses of its copies (at most 4096) and, under graph capture, the
/// blocks that the new node uses. Returns the batch as one `gpu_work`; for a batch of one copy, that copy. O(copies).
[[nodiscard]] gpu_work record_batch(const call& c, const batch_params& p, CUstream stream);
[[nodiscard]] gpu_work record_batch(const call& c, const shaped_copy* copies, std::size_t count, CUstream stream);

}  // namespace sluice::capture
