#pragma once

#include "instrumentation/ring/producer.hpp"

/// Connection to the writer. The library is preloaded into every process of a recorded command, even shells. It
/// connects at the first event; a process without events makes no ring and is not in the recording.
namespace sluice::capture {

/// Connects to the writer, once. False if there is no writer or the process is ending. Thread-safe.
bool connect() noexcept;
/// Call at the end of the process. There is no later connection: events of late destructors are not recorded.
void disconnect() noexcept;

/// True if events can be recorded; connects if needed. One load and a branch once connected.
[[nodiscard]] inline bool recording() noexcept { return collector::active() || connect(); }

}  // namespace sluice::capture
