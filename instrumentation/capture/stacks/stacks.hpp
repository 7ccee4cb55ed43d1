#pragma once

#include <cstdint>

/// The call stack of the calling thread, of the kind that `options.stacks` asks for.
namespace sluice::capture {

/// Prepares the kinds of stacks in `options.stacks`. Call at the start and regularly afterwards, because an interpreter
/// may be loaded late; cheap if nothing is new. Not from callbacks.
void prepare_stacks() noexcept;

/// Omits frames of the ELF file that contains `address` from the innermost end of stacks: it belongs to the recorder
/// (CUPTI). Call after `start_native_stacks`.
void leave_out_code_at(const void* address) noexcept;

/// The key of the calling thread's stack, for a record. The writer has been sent the stack. 0 if stacks are off or the
/// thread has no known frames. No lock, no allocation, never takes the GIL; O(frames). Preserves errno.
[[nodiscard]] std::uint64_t current_stack() noexcept;

/// As `current_stack`, for a call of the driver that allocates: says which library made the call. With Python stacks the
/// innermost frame is the native one that called the driver (see driver_caller.hpp), and a thread without Python frames
/// has its native stack. Some 100 ns more than `current_stack`.
[[nodiscard]] std::uint64_t allocation_stack() noexcept;

}  // namespace sluice::capture
