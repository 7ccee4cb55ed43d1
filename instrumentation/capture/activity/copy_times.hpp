#pragma once

#include "instrumentation/capture/calls/calls.hpp"

/// Estimated times of copies and memsets, without CUPTI. The program's thread records a driver event on each side; the
/// flush thread reads both once the later one has completed. An interval starts when the stream reaches the first
/// event, so it includes waiting for the copy engine and about 3 us for the events (on an H200: 64 MiB in 1222 us, i.e.
/// 54.9 GB/s on a 55.5 GB/s link; 4 KiB in 4 us). If a call returns when the copy is done (one end on the host), the
/// interval ends there.
/// Two events cost the program's thread up to 1.8 us. After a first few hundred, copies below 64 KiB are timed at most
/// 10,000 times per second and thread, and none while the process captures a stream. Others get their call's interval,
/// marked inferred.
namespace sluice::capture::copy_times {

/// Call at the entry edge of a copying call. Takes no lock; asks the driver to record an event.
void begin(const call& c, const work& w) noexcept;
/// Call at the exit edge, on the same thread. Records the copy now, or once the device has finished it.
void end(const call& c, const work& w) noexcept;

/// Records finished copies; if `last`, the others too, without an end. Flush thread only, with the sampler's gate held.
void collect(bool last) noexcept;

}  // namespace sluice::capture::copy_times
