#pragma once

#include <cstdint>

/// Detects calls that bypass our replaced driver entry points (`entry_points.hpp`) and are therefore not recorded: by a
/// library loaded with RTLD_DEEPBIND, which finds the driver first; by one that got libc's dlsym through dlvsym; by one
/// that reads symbol tables itself. Memory must not go unrecorded without a warning, so two signs are looked for:
///
/// - A library whose variables or linkage table contain the address of a driver function that we replace: it calls the
///   driver directly. What the loader and the library itself fill in is seen; a table on the heap is not.
/// - Memory is freed through our functions that was not allocated through them.
///
/// Each is reported once, as a warning of the recording.
namespace sluice::capture::bypass_check {

/// Scans the libraries one second and ten seconds after the last one was loaded, and if `last`. Called regularly on a
/// thread of ours. Reads through the kernel, so that libraries may be unloaded meanwhile. A scan takes some
/// milliseconds for the libraries of a PyTorch program.
void look(bool last) noexcept;

/// Reports a free of an unknown block at `address` that succeeded.
void unknown_free(std::uint64_t address) noexcept;

}  // namespace sluice::capture::bypass_check
