#pragma once

#include <cstdint>

/// Who asked: the call stack of the calling thread, as `options.stacks` wants it.
namespace sluice::capture {

/// Gets ready for what `options.stacks` asks. Cheap when there is nothing new to find: called at the start and now and then
/// after it, for an interpreter may be loaded late. Not to be called from callbacks.
void prepare_stacks() noexcept;

/// The file of code that holds `address` is part of the recorder as well (CUPTI): its frames are left out where a stack begins
/// with them. After `start_native_stacks`.
void leave_out_code_at(const void* address) noexcept;

/// The key for a record's `stack`; the writer has been sent what it stands for. 0 when stacks are off, or nothing of this
/// thread's is known. Takes no lock, allocates nothing, never takes Python's GIL; O(frames). Leaves errno alone.
[[nodiscard]] std::uint64_t current_stack() noexcept;

}  // namespace sluice::capture
