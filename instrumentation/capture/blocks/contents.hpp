#pragma once

#include "instrumentation/capture/calls/calls.hpp"

/// What host-to-device copies move, so that copies of the same content can be found: `options.duplicates_percent`.
namespace sluice::capture {

/// At the entry of a copy: emits a `content_record` if its source lies on the host. Into a graph it is none: its source is read at
/// each launch. Spends no more of the thread's time than the options allow; what there is no time for, and what cannot be read,
/// is said to be so. Managed memory is left alone, for reading it would move it. No lock of ours, no allocation. Leaves errno alone.
void note_content(const call& c, const work& w) noexcept;

/// Tells the recording whether contents are looked at. At its start.
void say_what_of_contents() noexcept;

}  // namespace sluice::capture
