#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "instrumentation/runtime/device.hpp"

// The runtime's benchmarks, ./dev bench runtime. One file per topic; each registers its lines for a device, and
// main.cpp runs all of them on the CUDA device, if there is one, and on the simulated device.
//
// A line is named "topic/what/who", where who is "sluice" or the peer that does the same. The label is the line's
// target, if it has one:
//   state.SetLabel("time <= 25 ns");                       // real time of an iteration
//   state.SetLabel("rate >= 0.95 of files/link/pinned");   // a counter, against the same counter of another line
//   state.SetLabel("time <= 1 of pool/hit/rmm; scaling >= 0.9 of pool/scaling/16/empty loop");
// tests/bench/runtime_table.py prints the lines side by side and reports which targets are met.

namespace sluice::bench {

/// Registers the lines of one topic for `device`. The lines must capture by value: they run after this has returned.
using topic = void (*)(const runtime::device_ref& device);

/// A static object of this type in a topic's file registers the topic.
class topic_lines {
 public:
  explicit topic_lines(topic lines);
};

/// Registers `run` as "cuda/NAME" or "simulated/NAME". `run` takes a benchmark::State&.
template <class Run>
benchmark::internal::Benchmark* line(const runtime::device_ref& device, const std::string& name, Run&& run) {
  return benchmark::RegisterBenchmark(((device.simulated() ? "simulated/" : "cuda/") + name).c_str(),
                                      std::forward<Run>(run));
}

}  // namespace sluice::bench
