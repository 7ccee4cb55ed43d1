#pragma once

#include <cstdint>

#include "instrumentation/capture/process/calls.hpp"

/// Hashes the data that copies to and from the host move, to find copies of the same content
/// (`options.duplicates_percent`; if that is 0, call no function of this file). Hashing stays within the thread's time
/// budget. A copy is recorded without a hash if the budget is used up, if the copy's memory cannot be read, or if
/// reading would migrate managed memory. The functions take no lock, allocate nothing and preserve errno.
///
/// The data of a copy to the host can be hashed once the copy has ended. If the call waits, or the driver must copy
/// through its own buffers (to pageable memory that the device cannot access), the copy has ended when the call
/// returns. Otherwise the hash is computed after a successful wait for the copy's stream, for its context or for an
/// event recorded after the copy. Before that wait, the program cannot know that the data has arrived, and so cannot
/// have changed the data. A copy is recorded without a hash if the program never waits for it this way, or if its
/// destination is copied from or to, freed or unregistered before the wait.
namespace sluice::capture {

/// Call before a copy. If it copies from host memory, records the hash of its bytes. Do not call this function for a
/// stream under graph capture, because a graph reads its source at each launch.
void note_content(const call& c, const gpu_work& w) noexcept;

/// How to treat a copy's destination after the call.
enum class result_place : std::uint8_t {
  none,       ///< Do nothing: the destination is not host memory, or this call does not write it.
  written,    ///< Read the destination now.
  to_come,    ///< Read the destination when the copy is known to have ended.
  untouched,  ///< Do not read the destination: it is managed memory.
};
/// Call after a successful copy and before `work_done`: announces that a hash will follow, if the copy is from a device
/// to the host.
[[nodiscard]] result_place announce_result(const call& c, const gpu_work& w) noexcept;
/// Call after `work_done` and after the copy's end has been recorded: reads the result now, or when the copy has ended.
void note_result(const call& c, const gpu_work& w, result_place place) noexcept;

/// Call when a wait for a stream (a key) or, if `stream` is 0, for the whole context has succeeded. Reads the results
/// of the copies that were requested before the wait. O(copies waited for), at most 128.
void results_ended(const call& c, std::uint64_t stream) noexcept;
/// True if the result of some thread's copy is still to be read. Otherwise `results_precede` has nothing to do.
[[nodiscard]] bool results_are_awaited() noexcept;
/// Call when an event was recorded in a stream: notes that earlier copies in this stream end before the event.
void results_precede(const call& c, std::uint64_t event, std::uint64_t stream) noexcept;
/// Call when an event is known to have completed: reads the results of the copies that end before it.
void results_ended_by(const call& c, std::uint64_t event) noexcept;

/// Call before host memory is freed or unregistered, and before a pause. From then on, outstanding results are not
/// read.
void forget_results() noexcept;
/// Removes all outstanding results of all threads. Call at the start of another recording, while no other part of this
/// library runs.
void clear_results() noexcept;

/// Writes a message into the recording which says that copies are hashed, or why they cannot be. Call at the start of a
/// recording.
void say_what_of_contents() noexcept;

}  // namespace sluice::capture
