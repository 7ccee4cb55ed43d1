#pragma once

#include <cstdint>

namespace sluice::generate {

/// The kind of program to generate.
enum class program_pattern : std::uint8_t {
  training,  ///< Equal steps of forward, backward and update; with several processes one collective per step.
  inference  ///< Batched requests: sizes vary, caches live as long as their requests, graphs are launched.
};

enum class stack_choice : std::uint8_t { none, python, all };

struct generate_options {
  std::uint64_t events = 1'000'000;  ///< At least this many; the last step is completed.
  std::uint64_t seed = 1;            ///< Equal options and seed give identical bytes.
  program_pattern pattern = program_pattern::training;
  bool timeline = true;  ///< Also kernels and launches; false: only what memory mode records.
  stack_choice stacks = stack_choice::python;
  std::uint32_t processes = 1;  ///< Number of ranks, each with its own device.
  /// Rank of the first process, as if the others of the job were recorded elsewhere; -1: 0, or none if it is the only one.
  std::int64_t first_rank = -1;
  /// A rank that begins 50 ms late and whose kernels take `slow_factor` times as long, so that the others wait for it in
  /// each collective; -1: none.
  /// It may be one of those recorded elsewhere: recordings of one job need the same seed for all ranks.
  std::int64_t slow_rank = -1;
  static constexpr std::int64_t slow_factor = 4;
  [[nodiscard]] std::int64_t number_of_first() const { return first_rank < 0 ? 0 : first_rank; }
  [[nodiscard]] bool is_job() const { return processes > 1 || first_rank >= 0; }
  /// Small blocks that each process allocates before its first step and keeps, such as the entries of a cache.
  std::uint64_t kept_blocks = 0;
  /// The number of different call stacks that allocate kept blocks, in turn. The stacks form a tree with ten callees for
  /// each caller.
  std::uint64_t kept_stacks = 1;
};

}  // namespace sluice::generate
