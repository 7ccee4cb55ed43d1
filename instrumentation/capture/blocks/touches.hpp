#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/process/calls.hpp"

/// Finds the live blocks that a launch can reach through its parameters: the blocks into which parameter words point.
/// This only estimates what the kernel uses: a kernel may follow pointers stored in memory, and may ignore parameters.
/// For launches, only the words that may be addresses are sent, and the writer finds the blocks. For graph nodes, the
/// blocks are found here.
namespace sluice::capture {

/// Call before a launch on `stream`, or when a graph node is made or changed. Reads the parameters in the same way as
/// the driver (from the buffer in `extra` if `parameters` is null). Records the words that may point into a block; for
/// a graph node, records the blocks. Queries a function's parameter layout once and caches the layout. Takes no lock;
/// allocates only at a function's first launch. Takes 1 ns per word; for a graph node, about 20 ns per block.
void touch_parameters(const call& c, CUfunction function, void** parameters, void** extra, CUstream stream,
                      node_place node = {}) noexcept;

/// Records that a graph node uses the blocks into which `words` point. `name`: string key; 0 keeps the node's name.
void touch(const call& c, CUstream stream, node_place node, std::uint64_t name, const std::uint64_t* words,
           std::size_t count) noexcept;

/// Clears the cache of parameter layouts. Call after a module was unloaded, because its function handles may then
/// denote other functions.
void forget_functions() noexcept;

/// Call at the end of a recording: writes a warning into it if blocks or launches could not be looked up because a
/// table was full.
void report_untouched() noexcept;

}  // namespace sluice::capture
