#pragma once

#include "instrumentation/capture/calls/calls.hpp"

/// Hashes the bytes that host-to-device copies move, to find copies of the same content (`options.duplicates_percent`).
namespace sluice::capture {

/// Call before a copy from host memory: records the hash of its bytes. Not for a stream under graph capture: a graph
/// reads its source at each launch. Stays within the thread's time budget. A copy that is skipped or unreadable, or
/// whose managed memory reading would migrate, is recorded without a hash. No lock, no allocation; preserves errno.
void note_content(const call& c, const work& w) noexcept;

/// Writes a message into the recording: copies are hashed, or why they cannot be. Call at the start of a recording.
void say_what_of_contents() noexcept;

}  // namespace sluice::capture
