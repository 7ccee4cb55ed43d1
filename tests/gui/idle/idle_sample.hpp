#pragma once

#include <string>

#include "core/base/time/time_range.hpp"

namespace sluice::test {

/// Properties of the recording that `write_idle_sample` writes. Times are in ns.
struct idle_sample {
  static constexpr int steps = 20;
  static constexpr time_ns step = 20'000'000;      ///< From the start of one step to the start of the next.
  static constexpr time_ns kernel = 2'000'000;     ///< The first piece of work of a step.
  static constexpr time_ns planning = 10'000'000;  ///< Then cuDNN builds a plan, on the thread that launches.
  static constexpr time_ns loading = 4'000'000;    ///< Then the program waits for its data loader.
  static constexpr time_ns sample = 500'000;       ///< The time between samples.
};

/// Writes a training loop whose GPU waits in each step: for cuDNN's plan and for the data loader. The thread that
/// launches and a worker process are sampled if `sampled`. Aborts the test on failure.
void write_idle_sample(const std::string& path, bool sampled = true);

}  // namespace sluice::test
