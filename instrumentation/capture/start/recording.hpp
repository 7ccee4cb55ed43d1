#pragma once

#include "instrumentation/ring/producer.hpp"

/// The library is preloaded into every process of a recorded command, shells and all. It connects to the writer at the first
/// thing that it has to say: a process that never says anything makes no ring and is in no recording.
namespace sluice::capture {

/// Connects, once; false if nobody records, or the process is at its end. Thread-safe.
bool connect() noexcept;
/// At the end of the process. Nobody connects again: destructors that run later are not heard.
void disconnect() noexcept;

/// Whoever has something to say asks this first. A load and a branch once connected.
[[nodiscard]] inline bool recording() noexcept { return collector::active() || connect(); }

}  // namespace sluice::capture
