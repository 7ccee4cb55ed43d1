#pragma once

#include "instrumentation/runtime/ipc.hpp"
#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

/// The message that the producer sends to the test, and that the test passes on to the consumer.
struct parcel {
  shared_memory_handle numbers;
  ipc_event_handle written;
};

}  // namespace sluice::runtime
