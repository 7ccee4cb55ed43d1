#pragma once

#include "instrumentation/capture/calls/calls.hpp"

/// Hashes what host-to-device copies move, to find repeated copies of the same content (`options.duplicates_percent`).
namespace sluice::capture {

/// At the entry of a copy from host memory: emits a `content_record`. Not under capture, because a graph reads its
/// source at each launch. Stays within the thread's time budget; skipped or unreadable copies are recorded as such.
/// Skips managed memory, which reading would migrate. No lock of ours, no allocation; preserves errno.
void note_content(const call& c, const work& w) noexcept;

/// Records whether contents are hashed in this recording. Call at its start.
void say_what_of_contents() noexcept;

}  // namespace sluice::capture
