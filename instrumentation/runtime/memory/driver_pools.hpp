#pragma once

#include <cstddef>

#include "instrumentation/runtime/stream.hpp"

// Memory from the driver's pools, the device's default one or one's own, in and out of captures. Internal.

namespace sluice::runtime::driver_pools {

/// What the driver answered that was asked for `bytes` on the stream. In a capture the address is the graph's. Throws out_of_memory,
/// error.
[[nodiscard]] void* allocated(const device_ref& device, const stream_ref& stream, std::size_t bytes,
                              backend::outcome<void*> result);

/// Frees in stream order. In a capture a block of a graph's becomes a node; one from before goes with the graph.
void free(const device_ref& device, const stream_ref& stream, void* address) noexcept;

}  // namespace sluice::runtime::driver_pools
