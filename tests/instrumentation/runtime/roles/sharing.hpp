#pragma once

#include "instrumentation/runtime/ipc.hpp"
#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

/// What the producer says to the test, and the test to the consumer.
struct parcel {
  shared_memory_handle numbers;
  ipc_event_handle written;
};

}  // namespace sluice::runtime
