#include "instrumentation/ring/recorder_threads.hpp"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_state.hpp"

namespace sluice::ring {

namespace {

constinit std::atomic<std::uint64_t> listed[max_recorder_threads];
/// Increases after each change of the list. A list that was read after the version contains all changes up to it.
constinit std::atomic<std::uint64_t> version{0};
/// The version of the last list that was written to a ring.
constinit std::atomic<std::uint64_t> announced{0};

struct own_state {
  std::uint64_t seen = 0;  ///< Version of the list in which the thread was last looked up; 0: never.
  bool belongs = false;
};
SLUICE_THREAD_LOCAL own_state self;

std::uint64_t own_tid() noexcept { return static_cast<std::uint64_t>(syscall(SYS_gettid)); }

bool has_ended(std::uint64_t tid) noexcept {
  return syscall(SYS_tgkill, getpid(), static_cast<pid_t>(tid), 0) != 0 && errno == ESRCH;
}

/// Adds `tid`, unless the list contains it.
bool insert(std::uint64_t tid) noexcept {
  if (is_recorder_thread(tid)) return true;
  for (std::atomic<std::uint64_t>& place : listed) {
    std::uint64_t nobody = 0;
    if (!place.compare_exchange_strong(nobody, tid)) continue;
    version.fetch_add(1);
    return true;
  }
  return false;
}

void* run_loop(void* given) noexcept {
  join_recorder();
  const recorder_loop& loop = *static_cast<const recorder_loop*>(given);
  pthread_setname_np(pthread_self(), loop.name);
  loop.run();
  return nullptr;
}

}  // namespace

bool start_recorder_thread(const recorder_loop& loop) noexcept {
  // The thread inherits the signal mask, so it never receives a signal, not even at its start.
  const detail::signals_held hold;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run_loop, const_cast<recorder_loop*>(&loop)) != 0) return false;
  pthread_detach(thread);
  return true;
}

void announce_recorder_threads() noexcept {
  if (!active() || version.load() == 0) return;
  const detail::errno_keeper keep_errno;
  recorder_threads_record out{};
  out.header.time = now();
  out.version = version.load();
  std::uint64_t tids[max_recorder_threads];
  for (const std::atomic<std::uint64_t>& place : listed) {
    if (const std::uint64_t tid = place.load(); tid != 0) tids[out.count++] = tid;
  }
  if (!emit_with(&out.header, record_type::recorder_threads, sizeof out, tids, out.count)) return;
  std::uint64_t before = announced.load();
  while (before < out.version && !announced.compare_exchange_weak(before, out.version)) {
  }
}

void join_recorder() noexcept {
  const detail::errno_keeper keep_errno;
  self.belongs = true;
  if (insert(own_tid())) announce_recorder_threads();
}

bool add_recorder_thread(std::uint64_t tid) noexcept {
  if (tid == 0 || !insert(tid)) return false;
  announce_recorder_threads();
  return true;
}

bool is_recorder_thread() noexcept {
  if (self.belongs) return true;
  const std::uint64_t present = version.load(std::memory_order_acquire);
  if (self.seen == present) [[likely]]
    return false;
  self.seen = present;
  self.belongs = is_recorder_thread(own_tid());
  return self.belongs;
}

bool is_recorder_thread(std::uint64_t tid) noexcept {
  for (const std::atomic<std::uint64_t>& place : listed) {
    if (place.load(std::memory_order_relaxed) == tid) return true;
  }
  return false;
}

void refresh_recorder_threads() noexcept {
  const detail::errno_keeper keep_errno;
  for (std::atomic<std::uint64_t>& place : listed) {
    std::uint64_t tid = place.load();
    if (tid != 0 && has_ended(tid) && place.compare_exchange_strong(tid, 0)) version.fetch_add(1);
  }
  if (announced.load() != version.load()) announce_recorder_threads();
}

void forget_recorder_threads() noexcept {
  for (std::atomic<std::uint64_t>& place : listed) place.store(0);
  self = {};
  announced.store(version.fetch_add(1) + 1);
}

}  // namespace sluice::ring
