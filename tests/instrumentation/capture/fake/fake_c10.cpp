// A libc10.so without PyTorch: counts the reports that it receives.
#include "tests/instrumentation/capture/fake/fake_c10.hpp"

#include <atomic>

namespace {
std::atomic<std::int64_t> usage{0}, failures{0}, sum{0};
}

void c10::reportMemoryUsageToProfiler(void*, std::int64_t bytes, std::size_t, std::size_t, Device) {
  ++usage;
  sum += bytes;
}
void c10::reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, Device) { ++failures; }

fake_c10_calls fake_c10_was_called() { return {usage, failures, sum}; }
