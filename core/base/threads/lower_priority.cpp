#include "core/base/threads/lower_priority.hpp"

#ifdef __linux__
#include <sched.h>
#include <sys/resource.h>
#endif

namespace sluice {

void lower_priority() {
#ifdef __linux__
  const sched_param none{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &none));
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, 10));  // On Linux, this affects only the calling thread.
#endif
}

}  // namespace sluice
