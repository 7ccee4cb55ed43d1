#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Bytes that each call stack holds, allocated or copied. All sums are exact; events without a stack are counted under
/// `stack_id::none`.
namespace sluice::analysis {

class index;

struct stack_figures {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  ///< Number of blocks or copies.
  time_ns busy = 0;         ///< For copies: the sum of their durations.
  time_ns alone = 0;        ///< Part of `busy` when no kernel ran: the device waited for data. See `kernels_known`.

  /// Adds `more`. Sums saturate instead of overflowing, whatever a file contains.
  void add(const stack_figures& more);
  friend bool operator==(const stack_figures&, const stack_figures&) = default;
};

struct stack_share {
  trace::stack_id stack{};
  stack_figures figures;
};

struct stack_use {
  std::vector<stack_share> shares;  ///< One entry per stack, by stack id.
  time_ns time = 0;                 ///< For live blocks: the time at which they were live.
  bool cancelled = false;
  bool kernels_known =
      false;  ///< True if a device of the copies has recorded kernels; otherwise `alone` is 0 and meaningless.

  [[nodiscard]] std::uint64_t bytes() const;
  /// Adds the figures of `more`, stack by stack. O(stacks of both).
  void join(const stack_use& more);
};

/// Selects blocks of one layer (layers contain one another). Without a device or kind, any device or kind matches.
struct block_filter {
  trace::layer layer = trace::layer::driver;
  std::optional<trace::device_id> device;
  std::optional<trace::memory_kind> kind;
  [[nodiscard]] bool takes(const block_record& block) const {
    return block.allocated && !block.imported() && block.layer == layer && (!device || block.device == *device) &&
           (!kind || block.kind == *kind);
  }
};

/// The highest use of one memory: a (device, layer, kind) whose blocks are added up to one total.
struct listed_memory {
  memory_key of;
  std::uint64_t peak = 0;   ///< Highest bytes in use.
  bool has_stacks = false;  ///< True if any block of the memory has a stack.
  [[nodiscard]] block_filter filter() const { return {of.layer, of.device, of.kind}; }
};

/// Lists memory used in `range`, most bytes first. Of a section's index, ask only for the whole recording. O(blocks).
[[nodiscard]] std::vector<listed_memory> list_memories(const memory_use& memory, time_range range);

/// Lists the memory used in a range, most bytes first, from the indexes of all sections in the range.
class memory_lister {
 public:
  void add(const memory_use& memory, time_range part);
  [[nodiscard]] std::vector<listed_memory> list() const;

 private:
  friend std::vector<listed_memory> list_memories(const memory_use& memory, time_range range);
  struct highest_use {
    double peak = 0;
    bool has_stacks = false;
  };
  void add_stacks(const memory_use& memory);
  std::map<memory_key, highest_use> all_;
};

/// Sums the blocks live at `time` by stack, counting the same blocks as the totals of memory_use. O(blocks).
[[nodiscard]] stack_use live_stacks(const memory_use& memory, const block_filter& filter, time_ns time,
                                    const std::atomic<bool>& cancelled);

/// The bytes that blocks hold at one time.
struct held_bytes {
  time_ns time = 0;
  std::uint64_t bytes = 0;
};

/// The blocks of each memory, without imported ones, in the order of the index. Valid as long as the index.
using blocks_by_memory = std::map<memory_key, std::vector<const block_record*>>;
[[nodiscard]] blocks_by_memory group_by_memory(const memory_use& memory);

/// Returns the first time in `range` at which the selected blocks hold most bytes. O(blocks log blocks).
[[nodiscard]] held_bytes most_held(const memory_use& memory, const block_filter& filter, time_range range,
                                   const std::atomic<bool>& cancelled);
[[nodiscard]] held_bytes most_held(std::span<const block_record* const> blocks, time_range range);
[[nodiscard]] time_ns peak_time(const memory_use& memory, const block_filter& filter, time_range range,
                                const std::atomic<bool>& cancelled);

/// Sums the blocks born in `range` by stack, without those from before the recording. O(blocks).
[[nodiscard]] stack_use allocating_stacks(const memory_use& memory, const block_filter& filter, time_range range,
                                          const std::atomic<bool>& cancelled);
[[nodiscard]] stack_use allocating_stacks(std::span<const block_record* const> blocks, time_range range);

struct copy_filter {
  std::optional<trace::device_id> device;
  std::optional<trace::direction> direction;
};

/// Sums the copies that overlap `range` by the stack of the requesting call. Durations and bytes count by the share
/// inside the range (bytes rounded down). Migrations have no call and are omitted. O(copies log copies). With `part`:
/// returns what this part of the range contributes; the sums of consecutive parts add up to those of the range.
[[nodiscard]] stack_use copying_stacks(const index& from, const copy_filter& filter, time_range range,
                                       const std::atomic<bool>& cancelled, std::optional<time_range> part = {});

}  // namespace sluice::analysis
