#pragma once

#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// GPU faults: an illegal address, a trap, a failed assertion on the device. Afterwards the context is unusable and all
/// its calls return the same error. So a fault's record has the last launches, and the call that failed first.
namespace sluice::capture {

/// Remembers a launch, called at its entry, in case a fault follows. `name`: string key of the kernel's name. Each
/// thread keeps its last eight launches. Takes no lock; about 2 ns.
void note_launch(const call& c, std::uint64_t name, CUstream stream) noexcept;

/// To be called after a failed call has been recorded. On the first GPU fault of this context, writes a fault record
/// with the launches before it. `stream`: the key of the call's stream, or 0.
void note_failure(const call& c, std::uint64_t stream) noexcept;

/// Does what `note_failure` does for a driver query of the recorder itself, which returned `answer` for `context`.
void note_answer(std::uint32_t context_id, CUcontext context, CUresult answer) noexcept;

/// True after a fault in any context. CUPTI will not deliver the outstanding records of the context with the fault.
[[nodiscard]] bool has_faulted() noexcept;

/// Forgets all faults and launches, when another recording begins.
void forget_faults() noexcept;

}  // namespace sluice::capture
