#pragma once

#include <cstdint>

#include "instrumentation/capture/start/cuda_api.hpp"

/// Other users of CUPTI in this process. CUPTI serves one subscriber and one owner of activity buffers, and informs
/// neither about other users. As a preloaded library, we are called first: `other_profilers.cpp` interposes the few
/// CUPTI functions that take something from us or ask for what we hold, and passes the calls on unchanged. The other
/// profiler is reported, not hindered; when it stops, we take the records back.
namespace sluice::capture {

/// Writes a name for the library with the code at `address` to `name`, at most `bytes`: "PyTorch's profiler", or
/// "another profiler (FILE)".
void name_caller(const void* address, char* name, std::size_t bytes) noexcept;

/// The CUPTI function that the other library would have called without us; null if there is none.
[[nodiscard]] void* others_cupti(const char* function) noexcept;

/// Call when we have attached to CUPTI: from now on, calls of CUPTI by other profilers are noted.
void watch_other_profilers() noexcept;
/// Resets all state, in a forked child.
void forget_other_profilers() noexcept;

/// True if another profiler has taken the activity records, disabled them, or shut CUPTI down.
[[nodiscard]] bool records_are_taken() noexcept;
/// When another profiler took the records, in CLOCK_MONOTONIC ns.
[[nodiscard]] std::uint64_t taken_since() noexcept;
/// True if the other profiler stopped at least 1 s ago: we may take over again. `detached`: set if CUPTI was shut down.
[[nodiscard]] bool may_take_back(bool& detached) noexcept;
/// Call after the records have been taken back.
void taken_back() noexcept;

/// The library that subscribed to CUPTI before us, if we saw it; else "".
[[nodiscard]] const char* earlier_subscriber() noexcept;

/// Subscribes and enables everything again after another profiler shut CUPTI down. False if CUPTI refuses.
bool attach_again() noexcept;

}  // namespace sluice::capture
