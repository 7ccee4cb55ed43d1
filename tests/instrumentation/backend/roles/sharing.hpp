#pragma once

#include "instrumentation/backend/device.hpp"

namespace sluice::backend {

/// What the owner says to the test, and the test to the user.
struct handles {
  ipc_memory_handle memory;
  ipc_event_handle filled;
};

}  // namespace sluice::backend
