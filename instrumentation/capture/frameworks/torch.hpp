#pragma once

/// PyTorch's caching allocator, seen through the functions by which it reports to its own profiler. They are interposed: this
/// library is preloaded, so libc10_cuda's calls come here, and go on to libc10's own.
namespace sluice::capture::torch {

/// Finds libc10's own functions, if PyTorch is loaded by now. Takes the loader's lock: to be called where no lock of the
/// program's can be held.
void find_real_functions() noexcept;

/// Sends the totals that PyTorch stated last, where they have changed since: counters, each at the time of the block that it
/// was stated with. O(devices).
void report_totals() noexcept;

/// In a fork's child, and for another writer: nobody has heard of the counters and their names yet.
void forget_totals() noexcept;

}  // namespace sluice::capture::torch
