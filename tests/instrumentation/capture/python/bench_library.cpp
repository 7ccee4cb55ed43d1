// The cost of a Python stack: the walk and the stack's key, as for an allocation's record, with all frames seen before.
#include <chrono>
#include <cstddef>

#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/producer.hpp"

using namespace sluice;

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// Returns false if there is no recorder (`sluice record` sets the socket's name).
EXPORTED bool bench_prepare() {
  capture::find_python();
  return ring::start();
}

/// Nanoseconds per stack: the smallest of `times` means of 1000 stacks, which excludes the machine's other work.
EXPORTED double bench(int times) {
  constexpr int batch = 1000;
  double best = 0;
  for (int i = 0; i < times; ++i) {
    std::uint64_t sum = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (int j = 0; j < batch; ++j) sum += capture::python_stack_key();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    const double mean = taken.count() / batch;
    if (sum != 0 && (best == 0 || mean < best)) best = mean;
  }
  return best;
}
