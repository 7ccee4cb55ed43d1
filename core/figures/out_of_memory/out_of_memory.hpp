#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"

/// The first allocation that failed for want of memory: what was asked for, what there was, who held it, and what would
/// have let it fit. Sizes are in bytes, times in ns.
namespace sluice::analysis {

class fragmentation_builder;
class index;
class step_facts;

/// What refused the memory.
enum class memory_limit : std::uint8_t {
  unknown,
  device,    ///< The GPU had no more.
  framework  ///< The framework's own limit: torch.cuda.set_per_process_memory_fraction.
};

/// Blocks of one call stack and category that were live when the allocation failed.
struct held_share {
  trace::stack_id stack{};
  category what = category::none;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  /// Of `out_of_memory::pins`: free bytes of the segments that the blocks keep from being given back. A segment with
  /// blocks of several stacks counts for each of them.
  std::uint64_t pinned_bytes = 0;
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
  time_ns last_use = trace::unknown_time;  ///< Of the largest block, before the failure; unknown: it was never used.
};

/// What can be changed. The order is that of their price.
enum class remedy : std::uint8_t {
  free_unused,          ///< Free blocks after their last use.
  expandable_segments,  ///< PyTorch's setting expandable_segments:True.
  move_idle_state,      ///< Keep weights, optimizer state and the like on the host while nothing uses them.
  checkpoint,           ///< Compute the activations of some modules again in the backward pass.
  smaller_batch         ///< Half the batch.
};
inline constexpr std::size_t remedy_count = 5;

/// How a change was checked.
enum class remedy_check : std::uint8_t {
  layout,  ///< The blocks were taken out of the memory as it was laid out when the allocation failed.
  replay   ///< The recorded requests were replayed through a model of the allocator.
};

/// A change with which the allocation would have fit, alone or together with the others in `out_of_memory::changes`.
struct checked_change {
  remedy what{};
  remedy_check checked_by{};
  /// The blocks that the change is about, most bytes first; empty for `expandable_segments`.
  std::vector<held_share> blocks;
  std::uint64_t freed = 0;     ///< How many bytes less are held then.
  std::uint64_t reserved = 0;  ///< For `replay`: bytes reserved then, with the allocation.
};

/// The first failed allocation of a range. Bytes of blocks are those of the memory that failed: its device, layer, kind.
struct out_of_memory {
  trace::event_id event{};
  time_ns time = 0;
  trace::process_id process{};
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::stack_id stack{};
  trace::string_id call{};
  std::uint64_t asked = 0;  ///< Bytes that were asked for.
  std::uint64_t needed =
      0;  ///< Bytes that the allocator has to get from the driver for them: at least a segment's size.
  memory_limit limit = memory_limit::unknown;
  /// Bytes that the process may reserve: between these two. Both are the device's memory for `memory_limit::device`. 0: not
  /// known.
  std::uint64_t limit_from = 0;
  std::uint64_t limit_to = 0;
  std::uint64_t device_bytes = 0;  ///< The device's memory; 0: not known.
  bool device_free_known = false;  ///< The device's memory was sampled.
  std::uint64_t device_free = 0;   ///< Free on the device, by the last sample and what was allocated since.
  std::uint64_t others = 0;        ///< Held by CUDA contexts, libraries and other processes; 0: not known.
  std::uint64_t used = 0;          ///< In live blocks.
  std::uint64_t reserved = 0;      ///< In segments for these blocks; equal to `used` for memory without segments.
  std::uint64_t segments = 0;      ///< 0: none are known.
  std::uint64_t largest_hole = 0;  ///< The largest free piece in the segments.
  std::uint64_t missing = 0;       ///< Bytes that were missing: with so many more the allocation would have fit.
  /// What is said of uses, and what was replayed, begins here: the recording is large, and only the section of the failure
  /// was looked at. Unknown: all of it was.
  time_ns seen_from = trace::unknown_time;
  std::vector<held_share> held;            ///< All live blocks, most bytes first.
  bool uses_known = false;                 ///< Kernels and copies name the blocks that they use.
  std::vector<held_share> unused;          ///< Of those, blocks that nothing used any more, or never.
  time_ns compared = trace::unknown_time;  ///< The same moment of the step before; unknown: there is none.
  std::vector<held_share> grown;           ///< Stacks that held less then: how much more they hold now.
  std::vector<held_share> pins;            ///< Blocks in segments with holes, most pinned bytes first.
  std::vector<checked_change> changes;     ///< At most `change_limit`, the cheapest first; each was checked.
  bool only_together = false;              ///< Not one of `changes` is enough without the others.

  static constexpr std::size_t change_limit = 3;
};

/// True if a failed call means that there was no memory: CUDA_ERROR_OUT_OF_MEMORY.
[[nodiscard]] constexpr bool says_out_of_memory(std::int64_t error) { return error == 2; }

/// Finds what is said about the first failed allocation. Takes indexes of sections, or one index of all. Reads only the
/// blocks that are live in the section of the failure. What is replayed are the requests since the begin of that section,
/// to blocks that are live then: a part of a large recording tells less than the whole of a small one.
class out_of_memory_builder {
 public:
  explicit out_of_memory_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Chooses the failure that is judged: `failed`, among `all` failures of the recording, whose steps are `steps`.
  void set(const trace::alloc_failed_event& failed, std::vector<trace::alloc_failed_event> all,
           const step_facts& steps);
  /// The times that `look` must see: none without a failure.
  [[nodiscard]] std::vector<time_ns> moments() const;
  /// Looks at the moments in `run`, the time range of `from`. O(blocks * log blocks), and O(requests * log blocks) for each
  /// of at most 24 replays.
  void look(const index& from, time_range run, const fragmentation_builder& segments);
  /// The result: one element, or none.
  [[nodiscard]] std::vector<out_of_memory> take();

  /// Replays take long with more blocks than this, and are left out.
  static constexpr std::size_t most_replayed_blocks = 1'000'000;

 private:
  [[nodiscard]] time_ns step_before(const step_facts& of) const;

  const figures_scope& scope_;
  std::optional<trace::alloc_failed_event> failed_;
  std::vector<trace::alloc_failed_event> all_failed_;
  time_ns before_ = trace::unknown_time;  ///< The same moment in the step before.
  std::optional<std::vector<held_share>> held_before_;
  std::optional<out_of_memory> made_;
};

}  // namespace sluice::analysis
