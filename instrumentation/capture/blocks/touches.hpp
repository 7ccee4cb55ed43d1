#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// Which live blocks a launch names: every word of a kernel's parameters that lies in one. "Argument-visible": a kernel may
/// reach others through pointers in memory, and need not use what it was given.
namespace sluice::capture {

/// At the entry of a launch on `stream`, or of a node that is made or changed: reads its parameters as the driver will, the buffer
/// of `extra` if there is one, and emits a `touch_record` of the blocks they name, each once. What parameters a function has is
/// asked once and kept. No lock, no allocation (a function's first launch takes memory for it); 2 ns a word that is no
/// address, some 20 ns a block.
void touch_parameters(const call& c, CUfunction function, void** parameters, void** extra, CUstream stream,
                      node_place node = {}) noexcept;

/// Emits what a graph's node names: the blocks that `words` lie in. `name`: string key, 0: as before.
void touch(const call& c, CUstream stream, node_place node, std::uint64_t name, const std::uint64_t* words,
           std::size_t count) noexcept;

/// A module has been unloaded, or another recording begins: handles of functions may come to mean others.
void forget_functions() noexcept;

/// Says what could not be looked up, if anything: blocks and functions beyond what there is room for. At the end.
void report_untouched() noexcept;

}  // namespace sluice::capture
