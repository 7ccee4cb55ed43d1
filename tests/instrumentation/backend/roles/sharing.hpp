#pragma once

#include "instrumentation/backend/device.hpp"

namespace sluice::backend {

/// The message that the owner sends to the test, and that the test passes on to the user.
struct handles {
  ipc_memory_handle memory;
  ipc_event_handle filled;
};

}  // namespace sluice::backend
