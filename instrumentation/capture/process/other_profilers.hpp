#pragma once

#include <cstdint>

#include "instrumentation/capture/process/cuda_api.hpp"

/// Detects other profilers that use CUPTI in this process. CUPTI serves one subscriber and one owner of activity
/// buffers, and informs neither of other users. The capture library is preloaded, so its functions are called first:
/// `other_profilers.cpp` interposes the few CUPTI functions with which another profiler can subscribe, take over the
/// activity records, disable them or shut CUPTI down, and passes the calls on unchanged. The recording reports the
/// other profiler. When that profiler stops, the capture library takes the records back.
namespace sluice::capture {

/// Writes a display name for the library that contains the code at `address` to `name` (of size `bytes`): "PyTorch's
/// profiler", or "another profiler (FILE)".
void name_caller(const void* address, char* name, std::size_t bytes) noexcept;

/// The CUPTI function that the other profiler would have called if we did not interpose it; null if there is none.
[[nodiscard]] void* others_cupti(const char* function) noexcept;

/// Call when the capture library has attached to CUPTI. From then on, other profilers' calls to CUPTI are noted.
void watch_other_profilers() noexcept;
/// Resets all state. Call in a forked child.
void forget_other_profilers() noexcept;

/// True if another profiler has taken the activity records, disabled them, or shut CUPTI down.
[[nodiscard]] bool records_are_taken() noexcept;
/// When another profiler took the records, in CLOCK_MONOTONIC ns.
[[nodiscard]] std::uint64_t taken_since() noexcept;
/// True if the other profiler stopped at least 1 s ago, so that we may take the records back. Sets `detached` if CUPTI
/// was shut down.
[[nodiscard]] bool may_take_back(bool& detached) noexcept;
/// Call after the records have been taken back.
void taken_back() noexcept;

/// The name of the library that subscribed to CUPTI before us, if we observed that; else "".
[[nodiscard]] const char* earlier_subscriber() noexcept;

/// Subscribes and enables everything again after another profiler shut CUPTI down. Returns false if CUPTI refuses.
bool attach_again() noexcept;

}  // namespace sluice::capture
