#pragma once

#include <cstdint>

#include "instrumentation/capture/process/calls.hpp"

/// Records GPU faults: an illegal address, a trap, or a failed assertion on the device. After a fault, the CUDA context
/// is unusable and all its calls return the same error. So a fault record contains the call that failed first and the
/// last launches before it.
namespace sluice::capture {

/// Call at the entry of a launch: stores the launch, in case a fault follows. `name`: string key of the kernel's name.
/// Each thread keeps its last eight launches. Takes no lock and about 2 ns.
void note_launch(const call& c, std::uint64_t name, CUstream stream) noexcept;

/// Call after a failed call has been recorded. On the first GPU fault of this context, writes a fault record with the
/// launches before the fault. `stream`: the key of the call's stream; 0 if the call has no stream.
void note_failure(const call& c, std::uint64_t stream) noexcept;

/// Like `note_failure`, but for a driver query that the recorder itself made and that returned `result` for `context`.
void note_result(std::uint32_t context_id, CUcontext context, CUresult result) noexcept;

/// True after a fault in any context. CUPTI will not deliver the outstanding records of the context with the fault.
[[nodiscard]] bool has_faulted() noexcept;

/// Removes all stored faults and launches. Call when another recording begins.
void forget_faults() noexcept;

}  // namespace sluice::capture
