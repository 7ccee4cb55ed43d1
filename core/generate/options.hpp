#pragma once

#include <cstdint>

namespace sluice::generate {

/// The kind of program to generate.
enum class program_pattern : std::uint8_t {
  /// Runs equal steps of forward, backward and update. With several processes, each step has one collective.
  training,
  /// Serves batches of requests of varying size, and launches CUDA graphs. The cache of a request is freed when the
  /// request ends.
  inference
};

enum class stack_choice : std::uint8_t { none, python, all };

struct generate_options {
  std::uint64_t events = 1'000'000;  ///< The minimum number of events; the last step is always completed.
  std::uint64_t seed = 1;            ///< The same options and seed produce the same file, byte by byte.
  program_pattern pattern = program_pattern::training;
  /// If true, also records kernels and launches. If false, records only what the memory mode records.
  bool timeline = true;
  stack_choice stacks = stack_choice::python;
  /// If true, and `timeline` is true, also records samples of the host threads that launch work. A training then
  /// compiles kernels in its first step, waits for its data loader before each step, and saves weights from time to
  /// time, so that its device is idle for known reasons. One row in some hundred is a sample.
  bool host_samples = false;
  [[nodiscard]] bool samples_hosts() const { return host_samples && timeline; }
  std::uint32_t processes = 1;  ///< The number of ranks, each with its own device.
  /// The rank of the first process, as if the other ranks of the job were recorded elsewhere. -1: the first process has
  /// rank 0, or no rank if there is only one process.
  std::int64_t first_rank = -1;
  /// The rank of a straggler: it starts 50 ms late, and its kernels take `slow_factor` times as long, so the other
  /// ranks wait for it in each collective. -1: no straggler. The straggler may be recorded elsewhere, so the recordings
  /// of one job must have the same seed for all ranks.
  std::int64_t slow_rank = -1;
  static constexpr std::int64_t slow_factor = 4;
  [[nodiscard]] std::int64_t number_of_first() const { return first_rank < 0 ? 0 : first_rank; }
  [[nodiscard]] bool is_job() const { return processes > 1 || first_rank >= 0; }
  /// The number of small blocks, such as cache entries, that each process allocates before its first step and never
  /// frees.
  std::uint64_t kept_blocks = 0;
  /// The number of distinct call stacks from which the kept blocks are allocated, in turn. The stacks form a tree in
  /// which each caller has ten callees.
  std::uint64_t kept_stacks = 1;
};

}  // namespace sluice::generate
