#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/model.hpp"

/// Sums the bytes that each call stack holds, allocates or copies. All sums are exact. Events without a stack are
/// counted under `stack_id::none`.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Sums over the blocks or copies of one stack.
struct stack_metrics {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  ///< Number of blocks or copies.
  time_ns busy = 0;         ///< For copies, the sum of their durations.
  /// The part of `busy` in which no kernel ran, so that the device waited for data. See `stack_use::kernels_known`.
  time_ns alone = 0;

  /// Adds `more`. Sums saturate instead of overflowing, even for a corrupt file.
  void add(const stack_metrics& more);
  friend bool operator==(const stack_metrics&, const stack_metrics&) = default;
};

/// A stack and its sums.
struct stack_share {
  trace::stack_id stack{};
  stack_metrics metrics;
};

/// The sums of all stacks.
struct stack_use {
  std::vector<stack_share> shares;  ///< One entry per stack, sorted by stack id.
  time_ns time = 0;                 ///< If the shares are live blocks, the time at which they are live.
  bool cancelled = false;
  /// True if kernels were recorded on the devices of the copies; otherwise `alone` is 0 and meaningless.
  bool kernels_known = false;

  [[nodiscard]] std::uint64_t bytes() const;
  /// Adds the metrics of `more`, stack by stack. O(stacks of both).
  void join(const stack_use& more);
};

/// Selects blocks of one layer (layers contain one another). If `device` or `kind` is not set, any device or kind
/// matches.
struct block_filter {
  trace::layer layer = trace::layer::driver;
  std::optional<trace::device_id> device;
  std::optional<trace::memory_kind> kind;
  [[nodiscard]] bool takes(const index::block_record& block) const {
    return block.allocated && !block.imported() && block.layer == layer && (!device || block.device == *device) &&
           (!kind || block.kind == *kind);
  }
};

/// One kind of memory, whose blocks can be summed, and its maximum use.
struct listed_memory {
  index::memory_key memory;
  std::uint64_t peak = 0;   ///< Highest number of bytes in use.
  bool has_stacks = false;  ///< True if any block of this memory has a stack.
  [[nodiscard]] block_filter filter() const { return {memory.layer, memory.device, memory.kind}; }
};

/// Lists the memory used in `range`, most bytes first. If `memory` is that of a section, `range` must be the whole
/// recording. O(blocks).
[[nodiscard]] std::vector<listed_memory> list_memories(const index::memory_use& memory, time_range range);

/// Lists the memory used in a range, most bytes first. All sections in the range must be added.
class memory_lister {
 public:
  void add(const index::memory_use& memory, time_range part);
  [[nodiscard]] std::vector<listed_memory> list() const;

 private:
  friend std::vector<listed_memory> list_memories(const index::memory_use& memory, time_range range);
  struct highest_use {
    double peak = 0;
    bool has_stacks = false;
  };
  void add_stacks(const index::memory_use& memory);
  std::map<index::memory_key, highest_use> all_;
};

/// Sums the blocks live at `time` by stack. Counts the same blocks as the totals of `memory_use`. O(blocks).
[[nodiscard]] stack_use live_stacks(const index::memory_use& memory, const block_filter& filter, time_ns time,
                                    const std::atomic<bool>& cancelled);

/// The bytes that blocks hold at a given time.
struct held_bytes {
  time_ns time = 0;
  std::uint64_t bytes = 0;
};

/// The blocks of each kind of memory, without imported blocks, in the order of the `memory_use`, which must outlive the
/// map.
using blocks_by_memory = std::map<index::memory_key, std::vector<const index::block_record*>>;
[[nodiscard]] blocks_by_memory group_by_memory(const index::memory_use& memory);

/// Returns the maximum number of bytes that the selected blocks hold in `range`, and when it is first reached.
/// O(blocks log blocks).
[[nodiscard]] held_bytes max_held(const index::memory_use& memory, const block_filter& filter, time_range range,
                                  const std::atomic<bool>& cancelled);
[[nodiscard]] held_bytes max_held(std::span<const index::block_record* const> blocks, time_range range);
[[nodiscard]] time_ns peak_time(const index::memory_use& memory, const block_filter& filter, time_range range,
                                const std::atomic<bool>& cancelled);

/// Sums the blocks allocated in `range` by stack. Omits blocks that existed before the recording. O(blocks).
[[nodiscard]] stack_use allocating_stacks(const index::memory_use& memory, const block_filter& filter, time_range range,
                                          const std::atomic<bool>& cancelled);
[[nodiscard]] stack_use allocating_stacks(std::span<const index::block_record* const> blocks, time_range range);

/// Selects copies. If a member is not set, any device or direction matches.
struct copy_filter {
  std::optional<trace::device_id> device;
  std::optional<trace::direction> direction;
};

/// Sums the copies that overlap `range` by the stack of the call that requested them. Durations and bytes count by the
/// share inside the range (bytes rounded down). Migrations have no call and are omitted. O(copies log copies). With
/// `part`, returns the contribution of this part of `range`. The contributions of consecutive parts add up to the
/// result for `range`.
[[nodiscard]] stack_use copying_stacks(const index::event_store& store, const copy_filter& filter, time_range range,
                                       const std::atomic<bool>& cancelled, std::optional<time_range> part = {});

}  // namespace sluice::metrics
