#pragma once

#include <cstdint>

/// Takes the call stack of the calling thread. `options.stacks` selects which frames (Python, native) a stack contains.
namespace sluice::capture {

/// Prepares for the kinds of stacks that `options.stacks` selects. Call at the start and regularly afterwards, because
/// an interpreter may be loaded late. A call is cheap if nothing is new. Do not call this from callbacks.
void prepare_stacks() noexcept;

/// From now on, omits frames of the ELF file that contains `address` from the innermost end of stacks. The recorder
/// calls this for CUPTI, whose frames call the recorder. Call after `start_native_stacks`.
void leave_out_code_at(const void* address) noexcept;

/// Sends the calling thread's stack to the writer, if that was not done before, and returns its key. Returns 0 if
/// stacks are off or the thread has no known frames. Takes no lock and never the GIL, allocates nothing, preserves
/// errno. O(frames).
[[nodiscard]] std::uint64_t current_stack() noexcept;

/// Like `current_stack`, for a driver call that allocates. The stack shows which library made the call. With Python
/// stacks, the innermost frame is the native one that called the driver (see driver_caller.hpp), and a thread without
/// Python frames gets its native stack. About 100 ns slower than `current_stack`.
[[nodiscard]] std::uint64_t allocation_stack() noexcept;

/// The stack of a long call of the library function `name`, which becomes the innermost frame. Has Python and native
/// frames, unless `options.stacks` is `native` or `none`. Takes some 10 us. `name` must have static storage duration.
[[nodiscard]] std::uint64_t library_call_stack(const char* name) noexcept;

}  // namespace sluice::capture
