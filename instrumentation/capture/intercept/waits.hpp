#pragma once

#include <pthread.h>
#include <time.h>

namespace sluice::capture {

/// Waits like pthread_cond_timedwait; all of the capture library's own waits must use this function. The capture
/// library interposes pthread_cond_timedwait, so its own references to that name carry no symbol version. If the
/// capture library is loaded after the C library, the loader binds these references to the oldest version, whose
/// condition variable has another layout and is never woken.
int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) noexcept;

}  // namespace sluice::capture
