#pragma once

#include "instrumentation/ring/producer.hpp"

/// The connection of a recorded process to the writer. The capture library is preloaded into every process of a
/// recorded command, even shells. It connects at the first event. A process without events makes no ring and does not
/// appear in the recording.
namespace sluice::capture {

/// Connects to the writer, once. Returns false if there is no writer or the process is ending. Thread-safe.
bool connect() noexcept;
/// Call at the end of the process. From then on, `connect` returns false, so events of late destructors are not
/// recorded.
void disconnect() noexcept;

/// True if events can be recorded. Connects if needed. Takes one load and a branch once connected.
[[nodiscard]] inline bool recording() noexcept { return ring::active() || connect(); }

}  // namespace sluice::capture
