#pragma once

#include <cstdint>

/// Detects calls that bypass our replaced driver entry points (`entry_points.hpp`) and so are not recorded. Such calls
/// come from three kinds of libraries: those loaded with RTLD_DEEPBIND, which find the driver first, those that got
/// libc's dlsym through dlvsym, and those that read symbol tables themselves. Memory must not go unrecorded without a
/// warning. There are two signs:
///
/// - A library's variables or linkage table contain the address of a driver function that we replace, so the library
///   calls the driver directly. This finds addresses that the loader or the library stored there, but no table on the
///   heap.
/// - A call to one of our functions frees memory that was not allocated through our functions.
///
/// Each sign is reported once, as a warning in the recording.
namespace sluice::capture::bypass_check {

/// Scans the libraries one second and ten seconds after a library was last loaded, and again if `last` is true. The
/// recorder calls this regularly on a thread of its own. Reads memory by system calls, so libraries may be unloaded
/// meanwhile. A scan takes a few milliseconds for the libraries of a PyTorch program.
void poll(bool last) noexcept;

/// Call if the driver has freed a block at `address` whose allocation was not recorded.
void unknown_free(std::uint64_t address) noexcept;

}  // namespace sluice::capture::bypass_check
