#pragma once

#include <cstdint>

/// The threads of a recorded process that belong to the recorder and not to the program: the recorder's own threads,
/// and the threads that CUPTI starts for it. What they do on the host would otherwise look like work or waiting of the
/// program. The writer writes no thread row, range, call, wait, marker or file access of such a thread, and the sampler
/// of host threads leaves it out. Allocations and device work that it reports are kept, without a thread.
///
/// The list has a fixed size and consists of atomics. Thread-safety: any thread may call any function. No function
/// allocates or takes a lock; errno does not change. A program may contain several copies of the producer; the list
/// belongs to one copy.
namespace sluice::ring {

/// What a thread of the recorder does: runs `run`, under `name` (at most 15 bytes).
struct recorder_loop {
  const char* name;
  void (*run)() noexcept;
};

/// Starts a detached thread, which blocks all signals and is in the list. `loop` must live as long as the thread.
/// Returns false if the system refuses.
[[nodiscard]] bool start_recorder_thread(const recorder_loop& loop) noexcept;

/// Marks the calling thread as one of the recorder's, and sends the new list. Call it first in each thread that the
/// recorder starts by other means: before the thread's first record and before its first wait.
/// O(max_recorder_threads).
void join_recorder() noexcept;

/// Marks another thread of this process, and sends the new list. Returns false if the list is full.
/// O(max_recorder_threads).
bool add_recorder_thread(std::uint64_t tid) noexcept;

/// True if the calling thread is one of the recorder's. One load and a comparison, unless the list has changed since
/// the thread's last call.
[[nodiscard]] bool is_recorder_thread() noexcept;

/// True if `tid` is in the list. O(max_recorder_threads).
[[nodiscard]] bool is_recorder_thread(std::uint64_t tid) noexcept;

/// Removes threads that have ended, because the system reuses their ids, and sends the list if it has changed or was
/// lost in a full ring. Call it about once a second. One system call for each thread of the list.
void refresh_recorder_threads() noexcept;

/// Sends the list to a writer that does not know it yet. Call it after `start`.
void announce_recorder_threads() noexcept;

/// Empties the list without sending it. Call it in a forked child, which has none of these threads.
void forget_recorder_threads() noexcept;

}  // namespace sluice::ring
