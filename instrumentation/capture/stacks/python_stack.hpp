#pragma once

#include <cstddef>
#include <cstdint>

/// The Python frames of the calling thread, read raw from the interpreter's memory: without the GIL, without touching a
/// reference count, without a call that could do either. So it may be called wherever a driver or an allocator calls us, with
/// any of their locks held. A thread's frames are its own: nobody else changes them while it is here.
///
/// CPython 3.8 to 3.14, from 3.13 on with and without the GIL; another version is told of once and left alone.
namespace sluice::capture {

/// Looks for an interpreter in this process and gets ready for its version. Cheap once it is found. It takes the loader's lock:
/// not to be called from callbacks.
void find_python() noexcept;

/// Keys of the calling thread's frames, innermost first, at most `max`; each frame's particulars have been sent
/// (`frame_record`). Returns how many; 0 in a thread without Python, or without a Python that is known, or while Python
/// shuts down. With `entries` (`max` bits, zeroed by the caller), marks the frames that begin an evaluation: one run of C
/// (_PyEval_EvalFrameDefault) stands for all from the one after the last mark up to the marked one.
/// O(frames), some ns a frame that was seen before.
std::size_t python_frames(std::uint64_t* out, std::size_t max, std::uint64_t* entries = nullptr) noexcept;

/// The key of the calling thread's Python stack, everything that it stands for sent; 0 for none.
std::uint64_t python_stack_key() noexcept;

/// What tells where the calling thread's innermost Python frame stands from where it stood, or which it was, at another moment;
/// 0 in a thread without Python. The same number again says nothing of the frames further out. O(1).
[[nodiscard]] std::uint64_t python_place() noexcept;

/// `pc` lies in the interpreter's evaluation loop. O(1).
[[nodiscard]] bool in_python_evaluation(std::uint64_t pc) noexcept;

}  // namespace sluice::capture
