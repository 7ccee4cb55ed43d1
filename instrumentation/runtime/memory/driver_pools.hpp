#pragma once

#include <cstddef>

#include "instrumentation/runtime/stream.hpp"

// Internal: allocations from driver pools (the device's default pool or a private pool), inside and outside captures.

namespace sluice::runtime::driver_pools {

/// Converts the driver's result of allocating `bytes` on `stream` into an address.
/// In a capture, the graph owns the address. Throws out_of_memory, error.
[[nodiscard]] void* allocated(const device_ref& device, const stream_ref& stream, std::size_t bytes,
                              backend::device_result<void*> result);

/// Frees in stream order. In a capture, freeing a graph's block becomes a node; an older block is freed with the graph.
void free(const device_ref& device, const stream_ref& stream, void* address) noexcept;

}  // namespace sluice::runtime::driver_pools
