#include <unistd.h>

#include <cstdlib>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "instrumentation/runtime/recording/live_sets.hpp"
#include "instrumentation/runtime/state/device_state.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

// Not in recording.cpp, because shared libraries can join a recording but contain no writer.

namespace sluice::runtime {

bool join_recording(std::span<const device_ref> devices) {
  if (ring::active()) return false;
  layer_log::recording_comes();
  if (!ring::start(ring::producer_options{})) return false;
  layer_log::recording_is_here();
  for (const device_ref& device : devices) device.state()->announce();
  // Never destroyed, like the devices, but sends its last live sets at exit.
  static auto* const sender = new live_set_sender;
  static const pid_t here = getpid();
  (void)std::atexit([] {
    // A forked child has none of the parent's threads.
    if (getpid() == here) sender->end();
  });
  return true;
}

}  // namespace sluice::runtime
