#include "instrumentation/capture/process/cupti_threads.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/recorder_threads.hpp"

namespace sluice::capture {

namespace {

constexpr std::size_t max_threads = 16384;
constexpr std::size_t list_bytes = max_threads * sizeof(std::uint32_t);

/// Restores errno at the end of the scope.
struct errno_restorer {
  int saved = errno;
  ~errno_restorer() { errno = saved; }
};

/// The entries that the system call getdents64 returns.
struct folder_entry {
  std::uint64_t number;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

/// Calls `use(tid)` for each thread of this process. Returns false if they cannot be listed. Allocates nothing.
template <class Use>
bool for_each_thread(Use&& use) {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(folder_entry) char bytes[4096];
  long length = 0;
  while ((length = syscall(SYS_getdents64, folder, bytes, sizeof bytes)) > 0) {
    for (long at = 0; at < length;) {
      const auto* entry = reinterpret_cast<const folder_entry*>(bytes + at);
      const unsigned long tid = strtoul(entry->name, nullptr, 10);
      if (tid != 0) use(static_cast<std::uint32_t>(tid));
      at += entry->bytes;
    }
  }
  close(folder);
  return length == 0;
}

/// The signals that a thread blocks, one bit for each, signal 1 first. Returns false if they are unknown.
bool read_blocked_signals(std::uint32_t tid, std::uint64_t& blocked) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%u/status", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[4096];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* const line = strstr(text, "\nSigBlk:");
  if (line == nullptr) return false;
  blocked = strtoull(line + 8, nullptr, 16);
  return true;
}

constexpr std::uint64_t get_bit(int signal) { return std::uint64_t{1} << (signal - 1); }

/// The signals that the C library uses itself. It blocks them only while it starts a thread, before the thread gets the
/// mask of its creator.
constexpr std::uint64_t starting = get_bit(32) | get_bit(33);

/// Like `read_blocked_signals`, but waits until the C library has started the thread, at most 20 ms.
bool read_inherited_signals(std::uint32_t tid, std::uint64_t& blocked) {
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (!read_blocked_signals(tid, blocked)) return false;
    if ((blocked & starting) == 0) return true;
    const timespec moment{0, 200'000};
    nanosleep(&moment, nullptr);
  }
  return false;
}

/// Changes one bit of the mask: blocks the highest real-time signal that is not blocked, or unblocks SIGSYS.
void add_mark(sigset_t& mask) {
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) {
    if (sigismember(&mask, signal) == 1) continue;
    sigaddset(&mask, signal);
    return;
  }
  sigdelset(&mask, SIGSYS);
}

}  // namespace

cupti_thread_watch::cupti_thread_watch() noexcept {
  const errno_restorer keep_errno;
  void* const memory =
      mmap(nullptr, list_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  before_ = static_cast<std::uint32_t*>(memory);
  bool fits = true;
  const bool listed = for_each_thread([&](std::uint32_t tid) {
    fits = fits && count_ < max_threads;
    if (fits) before_[count_++] = tid;
  });
  std::sort(before_, before_ + count_);
  sigset_t marked;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  marked = mask_;
  add_mark(marked);
  if (!listed || !fits || pthread_sigmask(SIG_SETMASK, &marked, nullptr) != 0) return;
  const auto own = static_cast<std::uint32_t>(syscall(SYS_gettid));
  if (!read_blocked_signals(own, marked_)) marked_ = 0;
  if (marked_ == 0) pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

cupti_thread_watch::~cupti_thread_watch() {
  const errno_restorer keep_errno;
  if (before_ == nullptr) return;
  if (marked_ != 0) {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    for_each_thread([&](std::uint32_t tid) {
      if (std::binary_search(before_, before_ + count_, tid)) return;
      std::uint64_t inherited = 0;
      if (read_inherited_signals(tid, inherited) && inherited == marked_) ring::add_recorder_thread(tid);
    });
  }
  munmap(before_, list_bytes);
}

void note_delivering_thread() noexcept {
  if (ring::is_recorder_thread() || ring::has_ring()) return;
  if (syscall(SYS_gettid) != getpid()) ring::join_recorder();
}

}  // namespace sluice::capture
