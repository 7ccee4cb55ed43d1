#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// Finds the live blocks that a launch names: every word of the kernel's parameters that lies in one. This is
/// "argument-visible": a kernel may reach other blocks through pointers in memory, and need not use those it is given.
namespace sluice::capture {

/// At the entry of a launch on `stream`, or when a graph node is made or changed: reads the parameters as the driver
/// will (from the buffer in `extra` if there is one), and emits a `touch_record` that names each block once. A
/// function's parameter layout is queried once and cached. No lock; allocates only at a function's first launch. 2 ns
/// per word that is not an address, about 20 ns per block.
void touch_parameters(const call& c, CUfunction function, void** parameters, void** extra, CUstream stream,
                      node_place node = {}) noexcept;

/// Emits the blocks that `words` point into as touches of a graph node. `name`: string key; 0 keeps the old name.
void touch(const call& c, CUstream stream, node_place node, std::uint64_t name, const std::uint64_t* words,
           std::size_t count) noexcept;

/// Clears the function cache: after a module unload, or in a new recording, a handle may mean another function.
void forget_functions() noexcept;

/// At the end: warns about blocks and functions that exceeded the tables and could not be looked up.
void report_untouched() noexcept;

}  // namespace sluice::capture
