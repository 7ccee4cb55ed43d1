#pragma once

#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// GPU faults: an illegal address, a trap, an assertion on the device. The context is of no more use, and every call says so with
/// the same error. What matters then is what was enqueued last, and who saw it first.
namespace sluice::capture {

/// At the entry of a launch: it may turn out to be one of the last before a fault. `name`: the kernel's string key. Each thread
/// keeps its last few; no lock, some 2 ns.
void note_launch(const call& c, std::uint64_t name, CUstream stream) noexcept;

/// By whoever has told of a call that failed: if the GPU has faulted, and this context's fault was not known, says so, with the
/// launches that came last before. `stream`: the call's, a key; 0 if it has none.
void note_failure(const call& c, std::uint64_t stream) noexcept;

/// The recorder's own question about `context` was answered with this.
void note_answer(std::uint32_t context_id, CUcontext context, CUresult answer) noexcept;

/// Some context has faulted: what it owed will not come.
[[nodiscard]] bool has_faulted() noexcept;

/// Another recording begins.
void forget_faults() noexcept;

}  // namespace sluice::capture
