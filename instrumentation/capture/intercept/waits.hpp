#pragma once

#include <pthread.h>
#include <time.h>

namespace sluice::capture {

/// Waits as pthread_cond_timedwait does. The library's own waits must come here: it interposes that function, so its own
/// references to it name no version. Where it is loaded after the C library, the loader binds these to the C library's
/// oldest version, whose condition has another layout and is never woken.
int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) noexcept;

}  // namespace sluice::capture
