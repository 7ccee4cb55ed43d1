#pragma once

#include <cstddef>
#include <cstdint>

/// The native call stack of the calling thread.
///
/// Each return address has a rule that gives its caller's frame. Rules are computed once from the unwind
/// tables (eh_frame.hpp) and kept in a lock-free cache, so a known frame costs a lookup and two loads. (The
/// idea comes from the caches of async-profiler and framehop.) The last walk of each thread is kept, too
/// (stack_trail.hpp). Code without tables is unwound by frame pointer, if that leads back into known code.
///
/// Cannot fault in a healthy program: the thread's own stack is read only between the
/// stack pointer and its top; on other stacks (of signals, coroutines) each page is tested
/// first; and each frame must be above the previous one. A wrong rule only gives a wrong
/// stack: a rule is wrong if another library was loaded at an unloaded one's address,
/// until `watch_native_modules` notices. x86-64 only; elsewhere there are no frames.
namespace sluice::capture {

/// Creates the cache, or clears it for another writer. Call after each `ring::start`, where allocating is allowed.
/// Returns false if there is no memory; then there are no frames.
bool start_native_stacks() noexcept;

/// Fills `out` with at most `max` program counters, innermost first: return addresses and, for code interrupted by a
/// signal, the interrupted address plus 1. `skip` is the number of innermost frames to omit; the first is the caller of
/// this function. Sends the writer the modules that contain these addresses. Returns the number of frames; 0 before
/// `start_native_stacks`. Takes no lock, does not allocate, preserves errno; safe in signal handlers. Takes about 5 ns
/// per known frame, 2 ns if the thread's last walk passed the same frame, 150 ns for a new frame. Uses 4.5 KB of stack.
std::size_t native_frames(std::uint64_t* out, std::size_t max, unsigned skip) noexcept;

/// Clears the cache of rules if a library was unloaded since the last call. Called regularly on a recorder's thread.
void watch_native_modules() noexcept;

}  // namespace sluice::capture
