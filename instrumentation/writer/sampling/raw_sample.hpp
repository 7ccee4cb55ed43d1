#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/model/kinds.hpp"

namespace sluice::writer {

/// What a host thread did for a while, as the sampler found it.
struct raw_sample {
  pid_t pid = 0;               ///< The process, as this process sees it.
  pid_t tid = 0;               ///< The thread, as its own process sees it (the last number of NSpid).
  std::int64_t monotonic = 0;  ///< Begin, in ns of CLOCK_MONOTONIC.
  std::int64_t length = 0;     ///< ns; at most a second.
  trace::host_state state = trace::host_state::unknown;
  std::int64_t system_call = -1;           ///< Its number; -1 if there is none, or it is unknown.
  std::vector<std::uint64_t> frames;       ///< Program counters, innermost first, all to be read like return addresses.
  std::vector<std::uint64_t> evaluations;  ///< Those of `frames` that are in Python's evaluation function.
};

/// True if the thread certainly ran in that time. Time of the state `unknown` may be CPU time, too.
[[nodiscard]] inline bool used_cpu(const raw_sample& sample) {
  return sample.state == trace::host_state::running || sample.state == trace::host_state::in_kernel;
}

/// A thread that is sampled.
struct raw_thread {
  pid_t pid = 0;     ///< As this process sees it.
  pid_t tid = 0;     ///< As its own process sees it.
  std::string name;  ///< The system's name, at the time when the sampling began.
};

/// A file of code that the frames of samples are in.
struct raw_module {
  pid_t pid = 0;  ///< As this process sees it.
  std::string path;
  std::uint64_t base = 0, begin = 0, end = 0;  ///< As in `module_record`.
  std::vector<std::uint8_t> build_id;
};

/// The name of the function that a frame of a sample is in.
struct raw_name {
  pid_t pid = 0;         ///< As this process sees it.
  std::uint64_t pc = 0;  ///< As in `raw_sample::frames`.
  std::string function;  ///< Readable, not mangled.
};

}  // namespace sluice::writer
