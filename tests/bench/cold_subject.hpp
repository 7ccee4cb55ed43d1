#pragma once

#include <cstddef>
#include <cstdint>

/// What `bench_cold` measures: the capture library's own code in a shared library, as a recorded program has it, with stand-ins
/// for the driver's and CUPTI's functions.
extern "C" {

/// False: no writer at `socket_name`.
bool cold_start(const char* socket_name);
void cold_stop();
/// The key of the calling thread's Python stack.
std::uint64_t cold_python_stack();
/// A launch whose kernel takes `count` pointers, both of its edges: at our entry point, and as CUPTI calls us.
void cold_launch(const std::uint64_t* pointers, std::size_t count);
void cold_launch_by_cupti(const std::uint64_t* pointers, std::size_t count);
/// One record of an allocation, into the ring.
void cold_emit(std::uint64_t address);
}

namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};
/// PyTorch's function, as the capture library has it.
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t total_allocated,
                                 std::size_t total_reserved, Device device);

}  // namespace c10
