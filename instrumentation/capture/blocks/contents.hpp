#pragma once

#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// Hashes the bytes that copies from the host and to it move, to find copies of the same content
/// (`options.duplicates_percent`; call none of this if it is 0). All stays within the thread's time budget; what is
/// skipped, cannot be read, or is managed memory that reading would migrate, is recorded without a hash. No lock, no
/// allocation; preserves errno.
///
/// What a copy to the host wrote is known once the copy has ended. That is when the call returns, if it waits or if the
/// driver must copy through buffers of its own (to pageable memory that the device does not reach). Otherwise it is when
/// a wait for its stream, its context or an event recorded behind it returns, and the hash is taken there: the program
/// cannot have changed the bytes without having known that they are there. Copies whose end is not seen so, or whose
/// destination is copied from or to, freed or unregistered before, are recorded without a hash.
namespace sluice::capture {

/// Call before a copy. If it copies from host memory, records the hash of its bytes. Not for a stream under graph
/// capture: a graph reads its source at each launch.
void note_content(const call& c, const work& w) noexcept;

/// What is to be done with a copy's destination after the call.
enum class result_place : std::uint8_t {
  none,       ///< Nothing: it is not host memory, or not written by this call.
  written,    ///< Read it now.
  to_come,    ///< Read it when the copy is known to have ended.
  untouched,  ///< Managed memory: do not read it.
};
/// Call after a successful copy and before `work_done`: announces the hash, if the copy goes from a device to the host.
[[nodiscard]] result_place announce_result(const call& c, const work& w) noexcept;
/// Call after `work_done` and after the copy's end has been taken: reads the result, or remembers to.
void note_result(const call& c, const work& w, result_place place) noexcept;

/// Call when a wait for a stream (a key) or, if `stream` is 0, for the whole context has ended successfully. Reads the
/// results of the copies that had been requested before the wait. O(copies that are waited for), at most 128.
void results_ended(const call& c, std::uint64_t stream) noexcept;
/// True if a copy's end is still to be seen, in any thread: otherwise `results_precede` has nothing to do.
[[nodiscard]] bool results_are_awaited() noexcept;
/// Call when an event has been recorded in a stream: copies requested before in this stream end before it does.
void results_precede(const call& c, std::uint64_t event, std::uint64_t stream) noexcept;
/// Call when an event is known to have happened.
void results_ended_by(const call& c, std::uint64_t event) noexcept;

/// Call before host memory is freed or unregistered, and before a pause: outstanding results are not read any more.
void forget_results() noexcept;
/// Call at the start of another recording, when no other part of this library runs.
void clear_results() noexcept;

/// Writes a message into the recording: copies are hashed, or why they cannot be. Call at the start of a recording.
void say_what_of_contents() noexcept;

}  // namespace sluice::capture
