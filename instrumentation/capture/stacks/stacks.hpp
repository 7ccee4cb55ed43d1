#pragma once

#include <cstdint>

/// The call stack of the calling thread, of the kind that `options.stacks` asks for.
namespace sluice::capture {

/// Prepares for the kinds of stacks that `options.stacks` selects. Call at the start and regularly afterwards, because
/// an interpreter may be loaded late; cheap if nothing is new. Do not call from callbacks.
void prepare_stacks() noexcept;

/// From now on, omits frames of the ELF file that contains `address` from the innermost end of stacks. Used for CUPTI,
/// which calls the recorder. Call after `start_native_stacks`.
void leave_out_code_at(const void* address) noexcept;

/// Sends the calling thread's stack to the writer, if that was not done before, and returns its key. 0 if stacks are
/// off or the thread has no known frames. No lock, no allocation, never takes the GIL; O(frames). Preserves errno.
[[nodiscard]] std::uint64_t current_stack() noexcept;

/// Like `current_stack`, for a driver call that allocates: shows which library made the call. With Python stacks, the
/// innermost frame is the native one that called the driver (see driver_caller.hpp), and a thread without Python frames
/// gets its native stack. About 100 ns slower than `current_stack`.
[[nodiscard]] std::uint64_t allocation_stack() noexcept;

}  // namespace sluice::capture
