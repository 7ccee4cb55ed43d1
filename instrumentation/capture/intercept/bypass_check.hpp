#pragma once

#include <cstdint>

/// Where the driver's entry points are exchanged for ours (`entry_points.hpp`), whoever finds the driver's own is not recorded: a library
/// that was loaded with RTLD_DEEPBIND and so finds the driver before us, one that has got libc's dlsym by dlvsym, one that reads
/// symbol tables itself. Nothing of it may be lost in silence, so it is looked for:
///
/// - A library whose variables or linkage table hold the address of a driver's function for which there is one of ours: it calls
///   that. What the loader and the library itself fill in is seen, a table on the heap is not.
/// - A library that holds libc's own dlsym (ours is found first by everybody else) or dlvsym, and names libcuda in its text: it may
///   keep what it finds anywhere.
/// - Memory is freed through us that no call through us had allocated.
///
/// Each is told once, as a warning of the recording.
namespace sluice::capture::bypass_check {

/// On a thread of ours, every so often: looks through the libraries a second after the last one was loaded, ten seconds after it, and
/// with `last`. Reads memory through the kernel, so that a library may be unloaded meanwhile. Some milliseconds a time for the
/// libraries of a PyTorch program.
void look(bool last) noexcept;

/// A free is asked for at `address`, of a block that is not known; and has worked.
void unknown_free(std::uint64_t address) noexcept;

}  // namespace sluice::capture::bypass_check
