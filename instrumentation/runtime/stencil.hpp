#pragma once

#include <cstdint>

#include "instrumentation/runtime/kernel.hpp"

// A kernel that stages its input in shared memory. The host cannot allocate shared memory. Instead, the launch
// specifies the bytes per block (launch_config::shared_bytes), and the kernel divides them.

namespace sluice::runtime {

namespace kernels {

/// out[i] = in[i - radius] + .. + in[i + radius] (mod 2^32). Past the ends, the first or last value is repeated.
/// Parameters: uint32_t* out, const uint32_t* in, uint64_t count, uint32_t radius; `out` and `in` must not overlap.
///
/// Each block copies its tile into dynamic shared memory with cp.async, and prefetches the next tile
/// while it computes. So each word is read from global memory about once. Use stencil_shape to launch it.
extern const kernel_definition stencil_u32;

/// A kernel for comparison. It gives the same result without shared memory, with 2 * radius + 1 reads per value. It
/// accepts any launch shape.
extern const kernel_definition stencil_direct_u32;

}  // namespace kernels

/// The largest radius for which both staging buffers fit into the 48 KiB that are available to every block.
inline constexpr std::uint32_t largest_stencil_radius = (48u * 1024 / 8 - 256) / 2;

/// The launch shape and shared memory for stencil_u32: blocks of 256 threads,
/// each block processes several tiles. Throws error if the radius is too large.
[[nodiscard]] launch_config stencil_shape(std::uint64_t count, std::uint32_t radius);

}  // namespace sluice::runtime
