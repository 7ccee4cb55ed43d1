#pragma once

#include <cstdint>

/// Call stacks of a program that records itself on the simulated device, where no capture library reads them.
namespace sluice::backend {

/// A part of the program's own code, as addresses.
struct code_range {
  const char* begin = nullptr;
  const char* end = nullptr;
};

/// From now on, events of the simulated device and of the runtime's layers carry the part of the calling thread's stack
/// that is in `code`, whatever other code is between. An empty range: none. Thread-safe.
void record_callers_in(code_range code) noexcept;

/// The key of the calling thread's stack, for a record; 0 if none is recorded, or no frame is in the range. Takes some
/// microseconds.
[[nodiscard]] std::uint64_t find_own_stack() noexcept;

}  // namespace sluice::backend
