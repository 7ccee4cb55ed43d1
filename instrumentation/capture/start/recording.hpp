#pragma once

#include "instrumentation/ring/producer.hpp"

/// Connection to the writer. The library is preloaded into every process of a recorded command, even shells. It
/// connects at the first event; a process without events makes no ring and does not appear in the recording.
namespace sluice::capture {

/// Connects to the writer, once. Returns false if there is no writer or the process is ending. Thread-safe.
bool connect() noexcept;
/// Call at the end of the process. Afterwards, `connect` returns false, so events of late destructors are not recorded.
void disconnect() noexcept;

/// True if events can be recorded; connects if needed. One load and a branch once connected.
[[nodiscard]] inline bool recording() noexcept { return ring::active() || connect(); }

}  // namespace sluice::capture
