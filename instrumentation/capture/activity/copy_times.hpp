#pragma once

#include "instrumentation/capture/calls/calls.hpp"

/// When copies and memsets ran, where CUPTI is not asked: the program's thread puts an event of the driver's on each side, the flush
/// thread reads both when the later one is done. The intervals are estimates. They begin when the stream comes to the first
/// event, so they hold what the copy engine made the copy wait, and some 3 us of the two events (measured on an H200: 64 MiB in 1222 us,
/// which is 54.9 GB/s on a link that gives 55.5; 4 KiB in 4 us). A call that returns when the copy is done (one with the host at an end) ends there.
///
/// Two events cost the program's thread up to 1.8 us, so copies below 64 KiB are timed 10,000 times a second and thread at most, after
/// a first few hundred, and none is while a stream of the process is being captured; the others are given their call's
/// interval, and marked inferred.
namespace sluice::capture::copy_times {

/// At the entry edge of a copying call. No lock; the driver is asked to record an event.
void begin(const call& c, const work& w) noexcept;
/// At its exit edge, on the same thread: what it was is on record, now or when the device has done it.
void end(const call& c, const work& w) noexcept;

/// What is done is delivered; `last`: the rest too, without an end. The flush thread's, with the sampler's gate held.
void collect(bool last) noexcept;

}  // namespace sluice::capture::copy_times
