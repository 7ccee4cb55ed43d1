#pragma once

/// PyTorch's caching allocator, observed through the functions that report to PyTorch's own profiler. This preloaded
/// library interposes them: libc10_cuda calls our functions, which then call those of libc10.
namespace sluice::capture::torch {

/// Looks up the interposed functions in libc10, if PyTorch is loaded. Takes the loader's lock: call only where no lock
/// of the program can be held.
void find_real_functions() noexcept;

/// Records the totals that PyTorch reported last, if changed: as counters, each at the time of the block that it was
/// reported with. O(devices).
void report_totals() noexcept;

/// Resets what was sent, for a forked child or a new writer: its writer knows neither the counters nor their names.
void forget_totals() noexcept;

}  // namespace sluice::capture::torch
