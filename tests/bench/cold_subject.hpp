#pragma once

#include <cstddef>
#include <cstdint>

/// The subject of `bench_cold`: the capture library's own code in a shared library, as in a recorded program, with
/// stand-ins for the functions of the driver and CUPTI.
extern "C" {

/// Returns false if there is no writer at `socket_name`.
bool cold_start(const char* socket_name);
void cold_stop();
/// The key of the calling thread's Python stack.
std::uint64_t cold_python_stack();
/// Runs the entry and the exit of a launch whose kernel takes `count` pointers: `cold_launch` through our entry point,
/// `cold_launch_by_cupti` through a CUPTI callback.
void cold_launch(const std::uint64_t* pointers, std::size_t count);
void cold_launch_by_cupti(const std::uint64_t* pointers, std::size_t count);
/// Writes one allocation record into the ring.
void cold_emit(std::uint64_t address);
}

namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};
/// PyTorch's function, as the capture library interposes it.
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t total_allocated,
                                 std::size_t total_reserved, Device device);

}  // namespace c10
