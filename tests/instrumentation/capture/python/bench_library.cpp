// What a Python stack costs: the walk and the key of the stack, as an allocation's record has them, all seen before.
#include <chrono>
#include <cstddef>

#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/producer.hpp"

using namespace sluice;

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// False: nobody records (`sluice record` names the socket).
EXPORTED bool bench_prepare() {
  capture::find_python();
  return collector::start();
}

/// Nanoseconds a stack: the best of `times` means of 1000, so that what else the machine does is left out.
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
