#pragma once

#include <cstdint>

/// Detects calls that bypass our replaced driver entry points (`entry_points.hpp`) and so are not recorded: by a
/// library loaded with RTLD_DEEPBIND, which finds the driver first; by a library that got libc's dlsym through dlvsym;
/// by a library that reads symbol tables itself. Memory must not go unrecorded without a warning. Two signs:
///
/// - A library's variables or linkage table contain the address of a driver function that we replace: the library calls
///   the driver directly. Addresses that the loader or the library stored there are seen; a table on the heap is not.
/// - A call of our functions frees memory that was not allocated through our functions.
///
/// Each sign is reported once, as a warning in the recording.
namespace sluice::capture::bypass_check {

/// Scans the libraries one second and ten seconds after the last one was loaded, and again if `last`. Called regularly
/// on a recorder's thread. Reads memory by system calls, so that libraries may be unloaded meanwhile. A scan takes some
/// milliseconds for the libraries of a PyTorch program.
void look(bool last) noexcept;

/// Call if the driver has freed a block at `address` whose allocation was not recorded.
void unknown_free(std::uint64_t address) noexcept;

}  // namespace sluice::capture::bypass_check
