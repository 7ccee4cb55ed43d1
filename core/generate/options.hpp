#pragma once

#include <cstdint>

namespace sluice::generate {

/// What kind of program the trace is of.
enum class program_pattern : std::uint8_t {
  training,  ///< Steps of forward, backward and update; the same sizes each time. A collective a step where there are several processes.
  inference  ///< Requests that come and go in batches: sizes vary, caches live as long as their requests, graphs are launched.
};

enum class stack_choice : std::uint8_t { none, python, all };

struct generate_options {
  std::uint64_t events = 1'000'000;  ///< At least so many; the last step is not cut short.
  std::uint64_t seed = 1;            ///< The same options and seed make the same bytes.
  program_pattern pattern = program_pattern::training;
  bool timeline = true;  ///< Kernels and launches too; otherwise what memory mode records.
  stack_choice stacks = stack_choice::python;
  std::uint32_t processes = 1;  ///< Ranks, each with a device of its own.
};

}  // namespace sluice::generate
