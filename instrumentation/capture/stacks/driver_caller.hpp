#pragma once

#include <cstddef>
#include <cstdint>

/// Whose code called the driver: the innermost frame outside this library and outside CUDA's driver, runtime and CUPTI.
/// A runtime that is linked statically counts as part of its caller's file.
namespace sluice::capture {

/// The index of that frame among `count` native frames, innermost first; `count` if there is none. Which file an
/// address belongs to is asked once. Lock-free, no allocation; a few ns a frame, 150 ns for a new one.
[[nodiscard]] std::size_t driver_caller(const std::uint64_t* frames, std::size_t count) noexcept;

/// Forgets which addresses belong to CUDA, because a library was unloaded.
void forget_driver_callers() noexcept;

}  // namespace sluice::capture
