// Interposed on the C library: functions in which a thread waits for another one. A wait of a thread that is in the
// recording becomes a range, so that an idle GPU can be put down to it. Each of these functions is called in order to
// wait: Python's locks try sem_trywait first, and come here only if somebody holds them. pthread_mutex_lock is called
// whether somebody holds the mutex or not, and is left alone: looking would cost every lock of the driver.

#include "instrumentation/capture/intercept/waits.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>

#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/capture/start/options.hpp"
#include "instrumentation/ring/producer.hpp"

#define INTERPOSED extern "C" __attribute__((visibility("default")))

// The linker's: where this library begins and ends.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace sluice::capture {
namespace {

/// Shorter waits are no ranges. In ns.
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
    return found != nullptr ? found : entry_points::real_symbol(RTLD_NEXT, name_);
  }

  const char* name_;
  const char* version_;
  std::atomic<void*> found_{nullptr};
};

bool is_own(const void* caller) { return caller >= __ehdr_start && caller < _end; }

/// The times of a wait. Watches only threads that have recorded something before: others stay out of the recording.
class watched_wait {
 public:
  explicit watched_wait(const void* caller) noexcept
      : watches_(collector::active() && records_at_least(trace::recording_mode::timeline) && !is_own(caller) &&
                 collector::has_ring()) {
    if (!watches_) return;
    begin_ = collector::now();
    began_ = collector::monotonic_now();
  }
  /// Records the wait as a range of this name, if it was long. Leaves errno as it is.
  void end(const char* name) const noexcept {
    if (!watches_ || collector::monotonic_now() - began_ < shortest_wait) return;
    const int error = errno;
    auto out = collector::record_at<collector::range_record>(begin_);
    out.end = collector::now();
    out.name = collector::intern(name);
    collector::emit(out);
    errno = error;
  }

 private:
  bool watches_;
  std::uint64_t begin_ = 0;  ///< On the recording's clock.
  std::uint64_t began_ = 0;  ///< In ns.
};

// The names are read by `cause_of_range` in core/figures/waste/idle_gaps.cpp.
constexpr const char* for_lock = "waiting for a lock";
constexpr const char* for_gil = "waiting for Python's GIL";
constexpr const char* for_thread = "waiting for another thread";

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
  wait.end(for_lock);
  return result;
}

INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* until) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_sem_timedwait.get()(semaphore, until);
  wait.end(for_lock);
  return result;
}

INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_sem_clockwait.get()(semaphore, clock, until);
  wait.end(for_lock);
  return result;
}

INTERPOSED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_cond_wait.get()(condition, mutex);
  wait.end(for_thread);
  return result;
}

/// Python waits for its GIL by this function, 5 ms at a time.
INTERPOSED int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  const void* const caller = __builtin_return_address(0);
  const watched_wait wait(caller);
  const int result = real_cond_timedwait.get()(condition, mutex, until);
  wait.end(is_in_python(reinterpret_cast<std::uint64_t>(caller)) ? for_gil : for_thread);
  return result;
}

INTERPOSED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  const watched_wait wait(__builtin_return_address(0));
  const int result = real_cond_clockwait.get()(condition, mutex, clock, until);
  wait.end(for_thread);
  return result;
}
