#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>

/// Finds the threads that CUPTI starts in the recorded process, so that the recording leaves them out
/// (`ring/recorder_threads.hpp`). CUPTI 13 starts two in `cuptiSubscribe`: one waits, and the other returns activity
/// buffers (measured on an H200). They are named like the program, and nothing in CUPTI's interface names them.
///
/// The list of the process's threads is read before and after our calls into CUPTI. A new thread in the list need not
/// be CUPTI's: other threads of the program may start threads in the same instant. So each new thread must also have
/// inherited a mark from the thread that calls CUPTI: a new thread has the signal mask of its creator, and for the time
/// of the call the caller's mask has a bit changed that no other thread has changed. (The start time of a thread has a
/// resolution of 10 ms, the system does not say which thread created another, and the address of the code that called
/// would tell nothing about threads that CUPTI starts through another library.) The mark is one real-time signal that
/// the caller did not block; if it blocks all of them, as our flush thread does, the mark is that it does not block
/// SIGSYS. CUPTI's threads keep the mark; the real-time signal can still be handled by the program's threads.
///
/// CUPTI may start a thread elsewhere, such as in a call of the program. Such a thread is noticed when it returns a
/// buffer (`note_delivering_thread`). A thread of CUPTI that never does so records nothing, and only the sampler of
/// host threads sees it. If /proc is missing, only this second way remains.
namespace sluice::capture {

/// While an object of this class exists, the calling thread calls CUPTI; its destructor marks the threads that were
/// started meanwhile by the calling thread. Objects may nest, and several threads may use them at the same time. The
/// object belongs to its thread. Takes about 10 us and 0.2 us per thread of the process; maps memory for the ids of
/// 16384 threads. In a process with more threads, nothing is found. errno does not change.
class cupti_thread_watch {
 public:
  cupti_thread_watch() noexcept;
  ~cupti_thread_watch();
  cupti_thread_watch(const cupti_thread_watch&) = delete;
  cupti_thread_watch& operator=(const cupti_thread_watch&) = delete;

 private:
  sigset_t mask_;                    ///< The caller's signal mask before the mark.
  std::uint64_t marked_ = 0;         ///< The mask with the mark, as in /proc/self/task/TID/status; 0: no mark was set.
  std::uint32_t* before_ = nullptr;  ///< Ids of the threads at the beginning; null: nothing is watched.
  std::size_t count_ = 0;
};

/// Call on a thread on which CUPTI returns a buffer. If the thread has recorded nothing so far and is not the main
/// thread, it is one of CUPTI's, because CUPTI never returns a buffer inside one of the program's calls. Takes two
/// loads for a known thread.
void note_delivering_thread() noexcept;

}  // namespace sluice::capture
