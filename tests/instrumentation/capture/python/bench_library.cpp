// What a Python stack costs: the walk and the key of the stack, as an allocation's record has them, all seen before.
#include <chrono>
#include <cstddef>

#include "instrumentation/capture/python_stack.hpp"
#include "instrumentation/collector/producer.hpp"

using namespace sluice;

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// False: nobody records (`sluice record` names the socket).
EXPORTED bool bench_prepare() {
  capture::find_python();
  return collector::start();
}

/// Nanoseconds a stack, the mean of `times`.
EXPORTED double bench(int times) {
  std::uint64_t frames[collector::maximum_frames];
  std::uint64_t sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    sum += collector::intern_stack(frames, capture::python_frames(frames, collector::maximum_frames));
  }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return sum == 0 ? 0 : taken.count() / times;
}
