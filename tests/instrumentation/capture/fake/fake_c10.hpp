#pragma once

#include <cstddef>
#include <cstdint>

/// The two functions by which PyTorch's allocators report to its profiler, as the fake libc10.so defines them.
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

/// What libc10 itself was told: that the recorder passes each call on, once.
struct fake_c10_calls {
  std::int64_t usage, failures;
  std::int64_t bytes;  ///< The sum of what `usage` calls said.
};
extern "C" fake_c10_calls fake_c10_was_called();
#pragma GCC visibility pop
