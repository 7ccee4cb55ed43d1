#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/trace/model/model.hpp"

/// Memory that is held while no kernel or copy needs it. Sizes are in bytes, times in ns.
namespace sluice::metrics {

/// Why memory counts as idle.
enum class idle_reason : std::uint8_t {
  never_used,       ///< No kernel or copy ever uses the block.
  allocated_early,  ///< Idle from its allocation to its first use, with much other work in between.
  held_late,        ///< Idle from its last use to its free or the end of the range, with much other work in between.
  between_uses,     ///< Idle between two uses, for long enough to move the block to the host and back.
  kept_gradient,    ///< A gradient, idle between its clearing and the backward pass that adds to it.
  reusable,         ///< Held while another block of the same size, past its last use, could be used instead.
  accumulating      ///< Not idle, but one of many blocks of one stack that were never freed: see `idle_group::spread`.
};
inline constexpr std::size_t idle_reason_count = 7;

/// The blocks that have the same call stack, name and category, and are idle for the same reason.
struct idle_group {
  idle_reason reason{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::stack_id stack{};  ///< The stack that allocated all blocks of the group; `none` if no stack was recorded.
  trace::string_id name{};
  index::category category = index::category::none;
  std::uint64_t blocks_at_peak = 0;  ///< Number of the group's blocks that are idle at the peak.
  std::uint64_t bytes_at_peak = 0;   ///< Total size of these blocks.
  /// How much lower the maximum use of this memory would be if no block of the group had existed while it was idle. To
  /// compute this, the maximum of the live bytes is found again without the idle bytes.
  std::uint64_t saved = 0;
  trace::block_id largest{};  ///< The largest of the group's blocks that are idle at the peak.
  std::uint64_t largest_bytes = 0;
  time_range idle;          ///< The interval in which the block `largest` is idle.
  std::uint64_t works = 0;  ///< Number of other launches and copies of the same process in `idle`.
  /// Allocation time of the first of the blocks idle at the peak. This member and the next three members are only set
  /// for `held_late` and `accumulating`.
  time_ns first_birth = 0;
  time_ns last_birth = 0;  ///< Allocation time of the last of the blocks idle at the peak.
  /// The kernels from `first_birth` to the peak are divided into eighths. This is the number of eighths in which at
  /// least one of these blocks was allocated.
  std::uint64_t spread = 0;
  std::uint64_t birth_kernels = 0;  ///< Number of kernels launched from `first_birth` to `last_birth`.
  /// For `held_late`, the number of blocks of similar size that `stack` allocated until the peak, whether they are then
  /// in use, idle or freed.
  std::uint64_t born = 0;
  std::uint64_t born_later = 0;  ///< For `held_late`, the number of such blocks that `stack` allocated after the peak.
  /// For `held_late`, bytes of blocks idle at the peak that are freed soon after the same stack has allocated their
  /// successor. This happens when a loop reassigns a variable in each iteration.
  std::uint64_t reassigned = 0;
  /// For `held_late`, bytes of blocks idle at the peak whose memory a later block, also live at the peak, could have
  /// reused.
  std::uint64_t replaced = 0;
};

/// What all idle groups of one reason and category would save together. The sum of what each of them saves can be more,
/// or less, because the peak then lies at another moment.
struct idle_together {
  idle_reason reason{};
  index::category category = index::category::none;
  std::uint64_t saved = 0;  ///< As `idle_group::saved`.
};

/// The idle groups of one kind of memory, sorted by `saved`, largest first.
struct idle_memory {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t works = 0;  ///< Number of launches and copies in the section that contains the peak.
  /// The number of kernels among `works`, without kernels that only fill memory with one value.
  std::uint64_t kernels = 0;
  std::vector<idle_group> groups;  ///< At most `limit`.
  /// Sorted by reason and category; empty in files of version 12 and earlier. Without `accumulating`.
  std::vector<idle_together> together;
  static constexpr std::size_t limit = 64;
};

}  // namespace sluice::metrics
