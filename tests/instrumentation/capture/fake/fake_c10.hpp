#pragma once

#include <cstddef>
#include <cstdint>

/// The two functions through which PyTorch's allocators report to its profiler, as the fake libc10.so defines them.
#pragma GCC visibility push(default)
namespace c10 {

struct Device {
  std::int8_t type;  ///< 0: CPU, 1: CUDA
  std::int8_t index;
};
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t total_allocated,
                                 std::size_t total_reserved, Device device);
void reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t total_allocated, std::size_t total_reserved,
                                 Device device);

}  // namespace c10

/// Counts the calls that reached libc10 itself, to check that the recorder forwards each call exactly once.
struct fake_c10_calls {
  std::int64_t usage, failures;
  std::int64_t bytes;  ///< The sum of the bytes in all `usage` calls.
};
extern "C" fake_c10_calls fake_c10_was_called();
#pragma GCC visibility pop
