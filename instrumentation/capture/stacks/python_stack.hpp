#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/stacks/python_layout.hpp"

/// Finds the Python frames of the calling thread directly in the interpreter's memory, without the GIL, reference
/// counts or calls into Python. So code inside a driver or an allocator may call these functions with any lock held,
/// including Python's. A thread's own frames cannot change meanwhile.
///
/// CPython 3.8 to 3.14 is supported, from 3.13 on with and without the GIL. For other versions, the recording contains
/// one message and no Python frames.
namespace sluice::capture {

/// Looks for a Python interpreter in this process and prepares for its version. A call is cheap once the interpreter
/// has been found. Takes the loader's lock, so do not call this from callbacks.
void find_python() noexcept;

/// Sends the details of the calling thread's frames (`frame_record`) and writes the keys of these frames to `out`,
/// innermost first, at most `max`. Returns the number of frames; 0 without Python, for an unsupported version, or while
/// Python shuts down. `entries` (`max` bits, zeroed by the caller) marks frames that begin an evaluation: one C call of
/// _PyEval_EvalFrameDefault evaluates all frames after the previous marked frame, up to and including the marked frame.
/// O(frames); a few ns per known frame.
std::size_t python_frames(std::uint64_t* out, std::size_t max, std::uint64_t* entries = nullptr) noexcept;

/// The key of the calling thread's Python stack, whose frames have been sent to the writer. 0 if there is none.
std::uint64_t python_stack_key() noexcept;

/// A number that changes with the calling thread's innermost Python frame or its position; 0 without Python. The outer
/// frames may differ even if the number is equal. O(1).
[[nodiscard]] std::uint64_t python_place() noexcept;

/// Addresses in the interpreter. Each but `layout` may be null.
struct python_symbols {
  const python_layout* layout = nullptr;
  const void* runtime = nullptr;  ///< _PyRuntime
  const void *code_type = nullptr, *text_type = nullptr, *bytes_type = nullptr;
};

/// The interpreter that `find_python` has found; null if it has found none that is supported. The result stays valid.
/// Any thread may call this.
[[nodiscard]] const python_symbols* find_python_symbols() noexcept;

/// True while Python shuts down, and without Python. Any thread may call this.
[[nodiscard]] bool is_python_ending() noexcept;

/// True if `pc` is in the interpreter's evaluation loop. O(1).
[[nodiscard]] bool in_python_evaluation(std::uint64_t pc) noexcept;

/// True if `pc` is in the file that contains the interpreter: libpython, or the program itself. O(1).
[[nodiscard]] bool is_in_python(std::uint64_t pc) noexcept;

}  // namespace sluice::capture
