#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// Finds the live blocks that a launch can reach by its parameters: each parameter word that points into a block. This
/// is only a guess at what the kernel uses: it may follow pointers stored in memory, and may ignore its parameters.
/// Launches only send the words that may be addresses, and the writer finds the blocks. For graph nodes, the blocks are
/// found here.
namespace sluice::capture {

/// Call before a launch on `stream`, or when a graph node is made or changed: reads the parameters as the driver will
/// (from the buffer in `extra` if `parameters` is null), and records the words that may point into a block; of a graph
/// node, the blocks. Queries a function's parameter layout once and caches it. No lock; allocates only at a function's
/// first launch. 1 ns per word; for a graph node, about 20 ns per block.
void touch_parameters(const call& c, CUfunction function, void** parameters, void** extra, CUstream stream,
                      node_place node = {}) noexcept;

/// Records the blocks that `words` point into as used by a graph node. `name`: string key; 0 keeps the node's name.
void touch(const call& c, CUstream stream, node_place node, std::uint64_t name, const std::uint64_t* words,
           std::size_t count) noexcept;

/// Clears the cache of parameter layouts: after a module was unloaded, its function handles may mean other functions.
void forget_functions() noexcept;

/// Call at the end: warns in the recording if blocks or launches could not be looked up because a table was full.
void report_untouched() noexcept;

}  // namespace sluice::capture
