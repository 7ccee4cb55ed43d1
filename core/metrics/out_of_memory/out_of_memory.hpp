#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/metrics/base/metrics_scope.hpp"

/// Analyzes the first allocation that failed because memory ran out: the request, the available memory, the owners of
/// the memory, and changes with which the request would have fit. Sizes are in bytes, times in ns.
namespace sluice::index {
class event_store;
class step_facts;
}  // namespace sluice::index

namespace sluice::metrics {

class fragmentation_builder;

/// The limit that the allocation hit.
enum class memory_limit : std::uint8_t {
  unknown,
  device,    ///< The GPU had no more memory.
  framework  ///< The framework's own limit was reached: torch.cuda.set_per_process_memory_fraction.
};

/// Blocks of one call stack and category that were live when the allocation failed.
struct held_share {
  trace::stack_id stack{};
  index::category category = index::category::none;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  /// In `out_of_memory::pins`, free bytes in the segments that these blocks keep from being returned to the driver. A
  /// segment with blocks of several stacks counts for each of these stacks.
  std::uint64_t pinned_bytes = 0;
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
  /// Last use of the block `largest` before the failure; `unknown_time` if it was never used.
  time_ns last_use = trace::unknown_time;
};

/// Possible changes, the cheapest first.
enum class remedy : std::uint8_t {
  free_unused,          ///< Free blocks after their last use.
  expandable_segments,  ///< PyTorch's setting expandable_segments:True.
  move_idle_state,      ///< Keep weights, optimizer state and the like on the host while nothing uses them.
  checkpoint,           ///< Recompute the activations of some modules in the backward pass.
  smaller_batch         ///< Halve the batch.
};
inline constexpr std::size_t remedy_count = 5;

/// How a change was checked.
enum class remedy_check : std::uint8_t {
  layout,  ///< By removing the blocks from the memory layout at the time of the failure.
  replay   ///< By replaying the recorded requests through a model of the allocator.
};

/// A change with which the allocation would have fit, alone or together with the other elements of
/// `out_of_memory::changes`.
struct checked_change {
  remedy kind{};
  remedy_check checked_by{};
  /// The blocks that the change affects, most bytes first; empty for `expandable_segments`.
  std::vector<held_share> blocks;
  std::uint64_t freed = 0;     ///< The number of bytes by which the change reduces the held memory.
  std::uint64_t reserved = 0;  ///< For `replay`, the bytes reserved with the change, including the failed allocation.
};

/// The first failed allocation of a range. Members about blocks describe the memory of the failed allocation, that is,
/// of its device, layer and kind.
struct out_of_memory {
  trace::event_id event{};
  time_ns time = 0;
  trace::process_id process{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::stack_id stack{};
  trace::string_id call{};
  std::uint64_t asked = 0;  ///< Bytes requested.
  std::uint64_t needed =
      0;  ///< Bytes that the allocator must get from the driver for the request, at least the size of a segment.
  memory_limit limit = memory_limit::unknown;
  /// Bounds of the number of bytes that the process may reserve; 0 if unknown. For `memory_limit::device`, both are the
  /// device's memory.
  std::uint64_t limit_from = 0;
  std::uint64_t limit_to = 0;
  std::uint64_t device_bytes = 0;  ///< The device's memory; 0 if unknown.
  bool device_free_known = false;  ///< True if the device's memory was sampled.
  std::uint64_t device_free = 0;   ///< Bytes free on the device, computed from the last sample and later allocations.
  std::uint64_t others = 0;        ///< Bytes held by CUDA contexts, libraries and other processes; 0 if unknown.
  std::uint64_t used = 0;          ///< Bytes in live blocks.
  /// Bytes in the segments of these blocks; equal to `used` for memory without segments.
  std::uint64_t reserved = 0;
  std::uint64_t segments = 0;      ///< Number of segments; 0 if none are known.
  std::uint64_t largest_hole = 0;  ///< The largest free piece in the segments.
  std::uint64_t missing = 0;       ///< With this many more bytes, the allocation would have fit.
  /// Bytes in empty segments that PyTorch's allocator kept in the same process while another caller's request failed,
  /// and could have returned to the driver. 0 if the request was PyTorch's own, because PyTorch returns what it can
  /// before it fails.
  std::uint64_t releasable = 0;
  /// Start of the interval that uses and replays cover. In a large recording, only the section that contains the
  /// failure is analyzed. `unknown_time` means the whole recording.
  time_ns seen_from = trace::unknown_time;
  std::vector<held_share> held;    ///< All live blocks, most bytes first.
  bool uses_known = false;         ///< True if kernels and copies are recorded with the blocks that they use.
  std::vector<held_share> unused;  ///< Live blocks that are no longer used, or were never used.
  /// The corresponding time in the previous step; `unknown_time` if there is no such step.
  time_ns compared = trace::unknown_time;
  std::vector<held_share> grown;  ///< Stacks that hold more than at `compared`, with the difference.
  std::vector<held_share> pins;   ///< Blocks in segments with holes, most pinned bytes first.
  /// The cheapest changes, cheapest first; at most `change_limit`. Each change was checked.
  std::vector<checked_change> changes;
  bool only_together = false;  ///< True if no single element of `changes` is sufficient.

  static constexpr std::size_t change_limit = 3;
};

/// Returns how much the request was short: what it needed, without what was free and what could have been released.
[[nodiscard]] inline std::uint64_t get_shortage(const out_of_memory& subject) {
  return subject.missing > subject.releasable ? subject.missing - subject.releasable : 0;
}

/// True if the error code of a failed call is CUDA_ERROR_OUT_OF_MEMORY.
[[nodiscard]] constexpr bool says_out_of_memory(std::int64_t error) { return error == 2; }

/// Analyzes the first failed allocation. Works with the event stores of sections, or with one event store for
/// everything. Reads only the blocks that are live in the section of the failure. Replays cover the requests since the
/// start of that section and the blocks that are live then. The result for a large recording therefore has less detail
/// than the result for a small recording.
class out_of_memory_builder {
 public:
  explicit out_of_memory_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Selects the failure to analyze. `rows`: all failures of the recording. `steps`: the steps of the recording.
  void set(const trace::alloc_failed_event& failed, std::vector<trace::alloc_failed_event> rows,
           const index::step_facts& steps);
  /// Returns the times to which `revisit` must be applied; empty if no failure was selected.
  [[nodiscard]] std::vector<time_ns> moments() const;
  /// Analyzes the times from `moments` in `run`, the time range that `store` covers. O(blocks * log blocks), plus
  /// O(requests * log blocks) for each of at most 24 replays.
  void revisit(const index::event_store& store, time_range run, const fragmentation_builder& segments);
  /// Returns the result: one element, or none.
  [[nodiscard]] std::vector<out_of_memory> take();

  /// Replays with more blocks than this would take too long and are skipped.
  static constexpr std::size_t max_replayed_blocks = 1'000'000;

 private:
  [[nodiscard]] time_ns step_before(const index::step_facts& facts) const;

  const metrics_scope& scope_;
  std::optional<trace::alloc_failed_event> failed_;
  std::vector<trace::alloc_failed_event> all_failed_;
  time_ns before_ = trace::unknown_time;  ///< The corresponding time in the previous step.
  std::optional<std::vector<held_share>> held_before_;
  std::optional<out_of_memory> made_;
};

}  // namespace sluice::metrics
