#pragma once

#include <cstdint>

#include "instrumentation/runtime/kernel.hpp"

// A kernel that stages what it reads through shared memory. No call allocates shared memory from the host: a launch says
// how much each block gets (launch_config::shared_bytes), and the kernel divides it.

namespace sluice::runtime {

namespace kernels {

/// out[i] = in[i - radius] + .. + in[i + radius] (mod 2^32), with the first and the last value repeated past the ends.
/// Parameters: uint32_t* out, const uint32_t* in, uint64_t count, uint32_t radius; `out` and `in` must not overlap.
///
/// Every block copies its tile, and the next one while it computes, into dynamic shared memory by cp.async: each word is
/// read from global memory about once. Launch it with stencil_shape.
extern const kernel_definition stencil_u32;

/// The same result without staging, for comparison: 2 * radius + 1 reads of global memory for each value. Any shape.
extern const kernel_definition stencil_direct_u32;

}  // namespace kernels

/// The largest radius for which both halves of the staging fit into the 48 KiB that every block may have.
inline constexpr std::uint32_t largest_stencil_radius = (48u * 1024 / 8 - 256) / 2;

/// The shape, and the shared memory, for stencil_u32: blocks of 256 threads, each of which walks over tiles. Throws
/// error for a larger radius.
[[nodiscard]] launch_config stencil_shape(std::uint64_t count, std::uint32_t radius);

}  // namespace sluice::runtime
