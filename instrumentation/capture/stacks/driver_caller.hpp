#pragma once

#include <cstddef>
#include <cstdint>

/// Finds the frame that called the driver. This is the innermost frame outside this library and outside CUDA's driver,
/// runtime and CUPTI. A statically linked runtime counts as part of its caller's file.
namespace sluice::capture {

/// The index, among `count` native frames (innermost first), of the frame that called the driver; `count` if there is
/// none. The file of each address is looked up once. Takes no lock and allocates nothing. Takes a few ns per known
/// frame, 150 ns for a new frame.
[[nodiscard]] std::size_t driver_caller(const std::uint64_t* frames, std::size_t count) noexcept;

/// Clears the cached information about which addresses belong to CUDA. Call after a library was unloaded.
void forget_driver_callers() noexcept;

}  // namespace sluice::capture
