#pragma once

#include <cstddef>
#include <cstdint>

/// Walks the native call stack of the calling thread.
///
/// Each return address has a rule that gives its caller's frame. Rules are computed once from the unwind
/// tables (eh_frame.hpp) and kept in a lock-free cache, so a known frame costs a lookup and two loads. (The
/// idea comes from the caches of async-profiler and framehop.) The last walk of each thread is kept, too
/// (stack_trail.hpp). Code without tables is unwound by frame pointer, if that leads back into known code.
///
/// A walk cannot cause a fault in a healthy program. It reads the thread's own stack only between the stack pointer and
/// its top. On other stacks (of signals, coroutines) it tests each page first. Each frame must be above the previous
/// one. A wrong rule only gives a wrong stack. A rule is wrong if another library was loaded at an unloaded one's
/// address, until `watch_native_modules` notices the change. This works on x86-64 only; on other processors there are
/// no frames.
namespace sluice::capture {

/// Creates the cache, or clears it for another writer. Call after each `ring::start`, where allocating is allowed.
/// Returns false if there is no memory; walks then find no frames.
bool start_native_stacks() noexcept;

/// Fills `out` with at most `max` program counters, innermost first: return addresses and, for code interrupted by a
/// signal, the interrupted address plus 1. `skip` is the number of innermost frames to omit; the first is the caller of
/// this function. Sends the writer the modules that contain these addresses. Returns the number of frames; 0 before
/// `start_native_stacks`. Takes no lock, does not allocate, preserves errno; safe in signal handlers. Takes about 5 ns
/// per known frame, 2 ns if the thread's last walk passed the same frame, 150 ns for a new frame. Uses 4.5 KB of stack.
std::size_t native_frames(std::uint64_t* out, std::size_t max, unsigned skip) noexcept;

/// Clears the cache of rules if a library was unloaded since the last call. The recorder calls this regularly on a
/// thread of its own.
void watch_native_modules() noexcept;

}  // namespace sluice::capture
