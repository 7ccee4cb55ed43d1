#pragma once

#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// GPU faults: an illegal address, a trap, a failed assertion on the device. Afterwards the context is unusable and all
/// its calls return the same error. What helps then are the last launches, and which call reported the fault first.
namespace sluice::capture {

/// Stores a launch, at its entry, in case a fault follows. `name` is the kernel's string key. Each thread keeps its
/// last eight launches. Takes no lock; about 2 ns.
void note_launch(const call& c, std::uint64_t name, CUstream stream) noexcept;

/// To be called after a failed call has been recorded. On the first GPU fault of this context, writes a fault record
/// with the launches before it. `stream`: the key of the call's stream, or 0.
void note_failure(const call& c, std::uint64_t stream) noexcept;

/// Like `note_failure`, for a driver query by the recorder itself: `answer` is what it returned for `context`.
void note_answer(std::uint32_t context_id, CUcontext context, CUresult answer) noexcept;

/// True after a fault in any context: outstanding device records of that context will not arrive.
[[nodiscard]] bool has_faulted() noexcept;

/// Clears all faults and launches, when another recording begins.
void forget_faults() noexcept;

}  // namespace sluice::capture
