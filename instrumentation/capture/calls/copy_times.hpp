#pragma once

#include "instrumentation/capture/process/calls.hpp"

/// Estimates when copies and memsets ran on the device, without CUPTI. The program's thread records a CUDA event before
/// and after each copy; the recorder's flush thread reads both events once the second has completed. An interval starts
/// when the stream reaches the first event, so it includes waiting for the copy engine and about 3 us for the events
/// (on an H200: 64 MiB in 1222 us, i.e. 54.9 GB/s on a 55.5 GB/s link; 4 KiB in 4 us). For a synchronous copy from or
/// to host memory, the interval ends when the call returns. Two events cost the program's thread up to 1.8 us. After a
/// thread's first few hundred copies, at most 10,000 of its copies below 64 KiB are timed per second. A copy that is
/// not timed is recorded with the interval of its call, and the interval is marked as inferred. Copies that become
/// graph nodes are not recorded here.
namespace sluice::capture::copy_times {

/// Call before the driver performs the copy. Takes no lock; asks the driver to record the first event.
void begin(const call& c, const gpu_work& w) noexcept;
/// Call after the driver call, on the same thread. Records an untimed copy now; `collect` records a timed copy later.
void end(const call& c, const gpu_work& w) noexcept;

/// Records finished copies; if `last`, also unfinished ones, without an end. Flush thread only, holding `sampler_gate`.
void collect(bool last) noexcept;

}  // namespace sluice::capture::copy_times
