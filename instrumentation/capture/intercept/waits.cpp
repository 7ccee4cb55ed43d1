// Interposes functions of the C library in which a thread waits for another thread. A wait of a recorded thread becomes
// a range, which can then explain why a GPU was idle. These functions are called only to wait: Python tries sem_trywait
// first, and calls these only if the lock is held. pthread_mutex_lock is called whether or not the mutex is held, and
// is not interposed, because that would slow down every lock of the driver.

#include "instrumentation/capture/intercept/waits.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>

#include "core/trace/model/recorded_names.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/real_symbol.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/recorder_threads.hpp"

#define INTERPOSED extern "C" __attribute__((visibility("default")))

// From the linker: the start and end of this library.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace sluice::capture {
namespace {

/// Shorter waits are not recorded. In ns.
constexpr std::uint64_t shortest_wait = 100'000;

/// A function of the C library, looked up at its first call.
template <class Function>
class real_function {
 public:
  constexpr real_function(const char* name, const char* version) noexcept : name_(name), version_(version) {}
  Function get() noexcept {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) found_.store(found = look_up(), std::memory_order_relaxed);
    return reinterpret_cast<Function>(found);
  }

 private:
  /// pthread_cond_wait has an old version with another layout of its condition; plain dlsym may return that one.
  [[nodiscard]] void* look_up() const noexcept {
    void* const found = version_ == nullptr ? nullptr : dlvsym(RTLD_NEXT, name_, version_);
    return found != nullptr ? found : real_symbol(RTLD_NEXT, name_);
  }

  const char* name_;
  const char* version_;
  std::atomic<void*> found_{nullptr};
};

bool is_own(const void* caller) { return caller >= __ehdr_start && caller < _end; }

/// The times of a wait. Only threads that have recorded something are watched, so that other threads do not appear in
/// the recording. The recorder's threads and CUPTI's, which deliver records, are not watched.
class watched_wait {
 public:
  explicit watched_wait(const void* caller) noexcept
      : watches_(ring::active() && records_at_least(trace::recording_mode::timeline) && !is_own(caller) &&
                 ring::has_ring() && !ring::is_recorder_thread()) {
    if (!watches_) return;
    begin_ = ring::now();
    began_ = ring::monotonic_now();
  }
  /// Records the wait as a range with this name, if it took at least `shortest_wait`. Preserves errno.
  void end(const char* name) const noexcept {
    if (!watches_ || ring::monotonic_now() - began_ < shortest_wait) return;
    const int error = errno;
    auto out = ring::record_at<ring::range_record>(begin_);
    out.end = ring::now();
    out.name = ring::intern(name);
    ring::emit(out);
    errno = error;
  }

 private:
  bool watches_;
  std::uint64_t begin_ = 0;  ///< Start of the wait, on the recording's clock.
  std::uint64_t began_ = 0;  ///< Start of the wait, in ns.
};

namespace names = trace::recorded_names;

constinit real_function<int (*)(sem_t*)> real_sem_wait{"sem_wait", nullptr};
constinit real_function<int (*)(sem_t*, const timespec*)> real_sem_timedwait{"sem_timedwait", nullptr};
constinit real_function<int (*)(sem_t*, clockid_t, const timespec*)> real_sem_clockwait{"sem_clockwait", nullptr};
constinit real_function<int (*)(pthread_cond_t*, pthread_mutex_t*)> real_cond_wait{"pthread_cond_wait", "GLIBC_2.3.2"};
constinit real_function<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real_cond_timedwait{
    "pthread_cond_timedwait", "GLIBC_2.3.2"};
constinit real_function<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_cond_clockwait{
    "pthread_cond_clockwait", nullptr};

}  // namespace

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) noexcept {
  return real_cond_timedwait.get()(condition, mutex, until);
}

}  // namespace sluice::capture

using namespace sluice::capture;

INTERPOSED int sem_wait(sem_t* semaphore) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_sem_wait.get()(semaphore);
  wait.end(names::lock_wait);
  return result;
}

INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* until) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_sem_timedwait.get()(semaphore, until);
  wait.end(names::lock_wait);
  return result;
}

INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_sem_clockwait.get()(semaphore, clock, until);
  wait.end(names::lock_wait);
  return result;
}

INTERPOSED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_cond_wait.get()(condition, mutex);
  wait.end(names::thread_wait);
  return result;
}

/// Python uses this function to wait for its GIL, 5 ms at a time.
INTERPOSED int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  const void* const caller = __builtin_return_address(0);
  const watched_wait wait(caller);
  const int result = real_cond_timedwait.get()(condition, mutex, until);
  wait.end(is_in_python(reinterpret_cast<std::uint64_t>(caller)) ? names::gil_wait : names::thread_wait);
  return result;
}

INTERPOSED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_cond_clockwait.get()(condition, mutex, clock, until);
  wait.end(names::thread_wait);
  return result;
}
