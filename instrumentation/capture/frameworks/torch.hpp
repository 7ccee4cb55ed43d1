#pragma once

/// Records the blocks of PyTorch's caching allocator. The allocator reports them to PyTorch's own profiler through
/// functions of libc10. This preloaded library interposes these functions, so libc10_cuda calls ours, which then call
/// those of libc10.
namespace sluice::capture::torch {

/// Looks up the interposed functions in libc10, if PyTorch is loaded. Takes the loader's lock, so call it only where no
/// lock of the program can be held.
void find_real_functions() noexcept;

/// Records PyTorch's allocated and reserved bytes as counters, for each device where they changed since the last call.
/// A counter's time is that of the allocation or free with which PyTorch last reported these bytes. O(devices).
void report_totals() noexcept;

/// Makes `report_totals` send all counters and names again, because a new writer, or the writer of a forked child, does
/// not have them.
void forget_totals() noexcept;

}  // namespace sluice::capture::torch
