#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// What each call stack is accountable for: bytes it holds, allocated or copied. All sums are exact; what has no stack is
/// counted under `stack_id::none`.
namespace sluice::analysis {

class index;

struct stack_figures {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  ///< Of blocks, or of copies.
  time_ns busy = 0;         ///< Of copies: the sum of their lengths.
  time_ns alone = 0;        ///< Of that, while no kernel ran on their device: it waited for data. See `kernels_known`.

  /// Stays at the highest number instead of wrapping, whatever a file says.
  void add(const stack_figures& more);
  friend bool operator==(const stack_figures&, const stack_figures&) = default;
};

struct stack_share {
  trace::stack_id stack{};
  stack_figures figures;
};

struct stack_use {
  std::vector<stack_share> shares;  ///< One a stack, by its id.
  time_ns time = 0;                 ///< The moment they are about, for live bytes.
  bool cancelled = false;
  bool kernels_known =
      false;  ///< Some device of the copies has recorded kernels: without, `alone` is 0 and says nothing.

  [[nodiscard]] std::uint64_t bytes() const;
  /// Adds the figures of `more` to those of the same stacks. O(stacks of both).
  void join(const stack_use& more);
};

/// Layers hold one another, so there is always one; without a device or a kind, all of them count.
struct block_filter {
  trace::layer layer = trace::layer::driver;
  std::optional<trace::device_id> device;
  std::optional<trace::memory_kind> kind;
  [[nodiscard]] bool takes(const block_record& block) const {
    return block.allocated && !block.imported() && block.layer == layer && (!device || block.device == *device) &&
           (!kind || block.kind == *kind);
  }
};

/// Memory that has a total of its own.
struct memory_standing {
  memory_key of;
  std::uint64_t peak = 0;   ///< Bytes.
  bool has_stacks = false;  ///< Some of its blocks have one.
  [[nodiscard]] block_filter filter() const { return {of.layer, of.device, of.kind}; }
};

/// What was used at all in `range`, most bytes first; of a part what it was told of the whole, which `range` is then. O(blocks).
[[nodiscard]] std::vector<memory_standing> list_memories(const memory_use& memory, time_range range);

/// The same from indexes of parts that together are all of a range.
class memory_lister {
 public:
  void add(const memory_use& memory, time_range part);
  [[nodiscard]] std::vector<memory_standing> list() const;

 private:
  friend std::vector<memory_standing> list_memories(const memory_use& memory, time_range range);
  struct standing {
    double peak = 0;
    bool has_stacks = false;
  };
  void add_stacks(const memory_use& memory);
  std::map<memory_key, standing> all_;
};

/// Blocks live at `time`, as the totals of memory_use count them. O(blocks).
[[nodiscard]] stack_use live_stacks(const memory_use& memory, const block_filter& filter, time_ns time,
                                    const std::atomic<bool>& cancelled);

/// What blocks hold at a moment.
struct held_bytes {
  time_ns time = 0;
  std::uint64_t bytes = 0;
};

/// The first moment in `range` at which the blocks hold most bytes. O(blocks log blocks).
[[nodiscard]] held_bytes most_held(const memory_use& memory, const block_filter& filter, time_range range,
                                   const std::atomic<bool>& cancelled);
[[nodiscard]] time_ns peak_time(const memory_use& memory, const block_filter& filter, time_range range,
                                const std::atomic<bool>& cancelled);

/// Blocks born in `range`; those that were there before the recording do not count. O(blocks).
[[nodiscard]] stack_use allocating_stacks(const memory_use& memory, const block_filter& filter, time_range range,
                                          const std::atomic<bool>& cancelled);

struct copy_filter {
  std::optional<trace::device_id> device;
  std::optional<trace::direction> direction;
};

/// Copies that overlap `range`, by the stack of the call that asked for them. As everywhere, times and bytes count by the
/// share inside the range (bytes rounded down). Migrations have no call and are left out. O(copies log copies).
/// `part`: only what this adds to the parts of the range before it, which together are all of it (see range_measurer).
[[nodiscard]] stack_use copying_stacks(const index& from, const copy_filter& filter, time_range range,
                                       const std::atomic<bool>& cancelled, std::optional<time_range> part = {});

}  // namespace sluice::analysis
