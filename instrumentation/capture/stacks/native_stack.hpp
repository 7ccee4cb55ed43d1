#pragma once

#include <cstddef>
#include <cstdint>

/// The native call stack of the calling thread.
///
/// How: each return address has a rule that says where its caller's frame is; rules are computed once from the unwind tables
/// (eh_frame.hpp) and kept in a lock-free cache, so that a frame seen before costs a look-up and two loads, after the idea of
/// async-profiler's and framehop's caches; each thread remembers its last walk (stack_trail.hpp). Code without tables is passed
/// by its frame pointer, when that leads back into known code.
///
/// It cannot fault in a healthy program: the thread's own stack is read between the stack pointer and its top only, on any other
/// stack (a signal's, a coroutine's) each page is tried first, and frames must lie further and further up. Wrong rules make a
/// wrong stack at worst. There may be wrong rules for the time until `watch_native_modules` sees that a library was unloaded
/// and another one was loaded in its place.
/// On x86-64; elsewhere there are no frames.
namespace sluice::capture {

/// Makes the cache, or empties it for another writer; after each `collector::start`, where memory may be had. False: there is
/// no memory, and there are no frames.
bool start_native_stacks() noexcept;

/// Fills `out` with at most `max` program counters, innermost first: return addresses, and for code that a signal has
/// interrupted the address after the interrupted one. `skip` 0 begins with the caller of this function. The writer has been
/// sent what it needs to resolve them. Returns how many; 0 before `start_native_stacks`.
/// No lock, no allocation, leaves errno alone; may be called from signal handlers. Some 5 ns a frame that was seen before, 2 ns
/// where the thread's last walk came by, 150 ns at first sight. Takes 4.5 KB of stack.
std::size_t native_frames(std::uint64_t* out, std::size_t max, unsigned skip) noexcept;

/// Forgets rules of libraries that are no longer loaded. For a thread of the recorder's, every so often: asks the loader.
void watch_native_modules() noexcept;

}  // namespace sluice::capture
