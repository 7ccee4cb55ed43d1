#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/trace/model/model.hpp"

/// The findings of a report.
namespace sluice::metrics {

/// The kind of a finding. `core/metrics/findings/NAME/descriptor.hpp` explains each kind: its meaning, how it is
/// detected, and what it cannot detect.
enum class finding_kind : std::uint8_t {
  // Errors, and problems that affect all metrics.
  gpu_fault,
  failed_allocations,
  retried_allocations,
  lost_events,
  // Memory.
  memory_grows,
  unfreed_blocks,
  never_used,
  allocated_early,
  held_late,
  idle_block,
  reusable_block,
  dead_write,
  gradients_kept,
  cached_unused,
  fragmentation,
  driver_allocations,
  activations_dominate,
  optimizer_state_dominates,
  untracked_memory,
  held_in_two_types,
  rank_imbalance,
  replicated_state,
  // Transfers.
  pageable_copies,
  slow_copies,
  small_copies,
  repeated_copies,
  round_trips,
  zero_uploads,
  migrations,
  copies_not_overlapped,
  // Kernels.
  fp32_products,
  // Waiting.
  frequent_waits,
  hidden_waits,
  idle_gaps
};
inline constexpr std::size_t finding_kind_count = 34;

/// How a saving was determined.
enum class saving_basis : std::uint8_t {
  none,      ///< The effect of the advice is unknown.
  measured,  ///< Taken from the recording, for example the time for which the device waited, or bytes that nothing
             ///< used.
  swept,     ///< The maximum of the live bytes was recomputed without the finding's blocks. The saving is the
             ///< reduction.
  /// Computed from the recording and the link's capacity, or by replaying requests through a model of an allocator.
  modelled
};

/// The most that a user can save by following a finding's advice. Savings of two findings may overlap.
struct saving {
  std::uint64_t peak_bytes = 0;      ///< Reduction of the maximum use of one layer's memory.
  std::uint64_t reserved_bytes = 0;  ///< Reduction of the unused memory that a pool or framework holds.
  time_ns time = 0;                  ///< Reduction of the active time, in ns.
  saving_basis basis = saving_basis::none;
  /// The saving as a share (0..1) of the active time, of the peak (`peak_share` in findings/shared/finder.hpp), or, for
  /// reserved bytes, of the most memory that the device held (`reserved_share` there). Findings are ranked by this
  /// number.
  double share = 0;
  /// The possible error of the saved bytes, plus or minus; 0 if the saving is an upper bound.
  std::uint64_t bytes_error = 0;
};

/// A part of the recording from which a saving is taken: blocks, reserved memory, copies or idle times of one call stack.
/// Savings from the same part cannot be added.
struct saved_part {
  enum class type : std::uint8_t { blocks, reserved, copies, gaps };
  type of = type::blocks;
  trace::device_id device{};
  std::uint64_t what = 0;  ///< The layer of blocks, the direction of copies, or the cause of idle times.
  trace::stack_id stack{};
  friend auto operator<=>(const saved_part&, const saved_part&) = default;
};

/// A conclusion from the metrics, in plain words, with numbers and advice.
struct finding {
  finding_kind kind{};
  trace::severity severity = trace::severity::info;
  std::string text;    ///< One or two sentences.
  std::string advice;  ///< How to fix the problem.
  time_range range;    ///< Where to look.
  trace::event_id event{};
  trace::block_id block{};
  saving saves{};
  code_place where{};
  /// If true, the finding is never a warning, however large the saving, because following the advice has a cost. The
  /// finding's place among the others depends on its saving alone.
  bool only_note = false;
  /// The device that the text describes, followed by other devices to which the same applies; empty if the finding is
  /// not about a device.
  std::vector<trace::device_id> devices{};
  /// True if a report lists the finding under "Findings" rather than under "Smaller findings": see `rank` in
  /// findings/shared/thresholds.hpp. All major findings come before all others.
  bool major = false;
  /// What the title (`get_title` in verdict/finding_title.hpp) adds to the name of the problem, such as "304 MiB in 19
  /// blocks"; may be empty.
  std::string detail{};
  std::int64_t rank = -1;  ///< The rank that is slower than the others, or needs more; -1 if there is none.
  /// The fix as code for the framework of the recording, one to three lines (`code_fix` in
  /// findings/shared/descriptor.hpp); empty if the fix is not code, or the framework is unknown.
  std::string fix_code{};
  std::vector<saved_part> parts{};  ///< What `saves` is taken from, as far as it is known; in any order.
  /// Positions in `report::findings` of the findings whose savings have a part in common with this one: only one of the
  /// savings can be had in full. Ascending.
  std::vector<std::size_t> overlaps{};
};

}  // namespace sluice::metrics
