#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/id_lookup.hpp"
#include "core/base/id_set.hpp"
#include "core/base/recent_entry.hpp"
#include "core/base/time/time_range.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Memory blocks, and the total of their bytes over time.
namespace sluice::index {

/// A block, with its whole lifetime or the recorded part of its lifetime.
struct block_record {
  trace::block_id id{};
  trace::block_id parent{};
  trace::event_id alloc{};
  trace::event_id free{};
  trace::process_id process{};
  trace::thread_id thread{};
  trace::device_id device{};  ///< None for host memory, because no device owns it.
  trace::stream_id stream{};
  trace::pool_id pool{};
  trace::stack_id stack{};
  trace::string_id name{};
  time_ns born = trace::unknown_time;
  time_ns died = trace::unknown_time;  ///< Unknown if never freed.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t flags = 0;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool allocated = false;       ///< False while only the block's free has been seen.
  bool death_inferred = false;  ///< True if no free event was recorded, but the block is missing from an exact
                                ///< checkpoint after a loss of events.

  [[nodiscard]] bool born_before() const { return (flags & trace::born_before) != 0; }
  /// True if the block was freed after the end of this recording, which was cut out of a longer one.
  [[nodiscard]] bool freed_after() const { return (flags & trace::freed_after) != 0; }
  [[nodiscard]] bool freed() const { return died != trace::unknown_time; }
  /// True if another process owns the bytes. The bytes count for that process.
  [[nodiscard]] bool imported() const { return (flags & trace::ipc_import) != 0; }
  [[nodiscard]] bool live_at(time_ns time) const { return born <= time && (!freed() || died > time); }
  /// True if the block is live at some time in the range.
  [[nodiscard]] bool live_in(time_range range) const { return born < range.end && (!freed() || died > range.begin); }
};

/// The key of a memory total. Host kinds have no device.
struct memory_key {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  friend bool operator==(const memory_key&, const memory_key&) = default;
  friend bool operator<(const memory_key& a, const memory_key& b) {
    return std::tie(a.device, a.layer, a.kind) < std::tie(b.device, b.layer, b.kind);
  }
};

/// The key of the total to which the block belongs.
[[nodiscard]] inline memory_key get_key(const block_record& block) { return {block.device, block.layer, block.kind}; }

/// A pool's reserved and used bytes. `used` comes from pool events; `blocks` is the total of the pool's recorded
/// blocks.
struct pool_use {
  timeline::sample_tree reserved;
  timeline::sample_tree used;
  timeline::level_tree blocks;
  std::vector<time_ns> times;  ///< Times of the pool's events, unsorted.
  bool has_segments = false;   ///< True if the pool consists of driver-layer blocks, whose bytes already include the
                               ///< pool's reserved bytes.
};

/// Memory samples of a device, and the curves derived from them.
struct device_samples {
  struct sample {
    time_ns time = 0;
    std::uint64_t order = 0;
    std::uint64_t free = 0;
    std::uint64_t total = 0;
    std::uint64_t recorder = 0;
  };
  std::vector<sample> samples;  ///< Sorted by (time, order) after `settle`.
  /// Returns the last sample at or before `time`; null if there is none. `settle` must be called first. O(log samples).
  [[nodiscard]] const sample* last_until(time_ns time) const {
    const auto behind = std::upper_bound(samples.begin(), samples.end(), time,
                                         [](time_ns t, const sample& each) { return t < each.time; });
    return behind == samples.begin() ? nullptr : &*(behind - 1);
  }
  timeline::sample_tree used;  ///< The samples' `total` - `free`.
  timeline::sample_tree recorder;
  timeline::sample_tree untracked;  ///< `used` - `recorder` - driver-layer blocks - bytes reserved by driver pools;
                                    ///< never negative.
};

/// A checkpoint with the list of all blocks of a process that are live at one time.
struct complete_checkpoint {
  trace::process_id process{};
  time_ns time = 0;
  std::vector<trace::block_id> live;  ///< Sorted.
};

/// For each process that lost memory events, the time of the first loss.
using first_losses = std::map<trace::process_id, time_ns>;
void note(const trace::loss_event& row, first_losses& in);

/// True if blocks that the checkpoint does not list must have been freed. This is the case if the checkpoint is exact
/// and complete, and the process lost memory events before it. `listed`: the number of blocks found for the checkpoint.
/// O(log processes).
[[nodiscard]] bool shows_lost_frees(const trace::checkpoint_event& about, std::size_t listed,
                                    const first_losses& losses);

/// Collects memory events, in any order, and keeps totals that can be queried at any zoom level. Not thread-safe.
///
/// A block counts from the time when the call that allocated it returned until the call that frees it starts. File
/// content is not trusted: unknown blocks, repeated allocations and ends before starts are counted in `malformed` and
/// otherwise ignored.
class memory_use {
 public:
  void add(const trace::alloc_event& row);
  void add(const trace::live_block_event& row);
  void add(const trace::free_event& row);
  void add(const trace::alloc_failed_event& row) { failed_.push_back(row); }
  void add(const trace::pool_event& row);
  void add(const trace::device_memory_event& row);
  void add(const trace::checkpoint_event& row);
  void add(const trace::loss_event& row) { losses_.push_back(row); }

  /// Reserves space for `known` blocks known from the file, followed by `born` other blocks. Must be called before
  /// anything is added.
  void expect(std::size_t known, std::size_t born) {
    blocks_.reserve(known + born);
    by_id_.expect(known);
  }
  /// Announces `born` blocks with consecutive ids that will be allocated. Must be called after the last known block.
  void expect_births(std::size_t born) { by_id_.expect_run(born); }

  /// Applies a checkpoint taken after a loss of events. A block of the checkpoint's process that the checkpoint does
  /// not list counts as freed when the checkpoint was taken. Exceptions are blocks that a row added here freed, and
  /// blocks in `freed` (all blocks with a recorded free). O(blocks * log live).
  void infer_deaths(const complete_checkpoint& by, const id_set* freed = nullptr);

  /// Adds a block whose whole lifetime is known from the file. Later rows about the block are ignored. Must be called
  /// before rows are added.
  void set_known(const block_record& block);
  /// Adds a block in the state in which earlier rows left it (allocated, or only freed). Must be called before later
  /// rows are added.
  void continue_from(const block_record& block);
  /// Keeps a total for `key` even if it has no blocks. `highest`: the total's maximum over the whole recording, in
  /// bytes. `stacks`: true if some block with this key has a stack.
  void set_known(const memory_key& key, double highest, bool stacks) {
    use_[key].set_highest(highest);
    if (stacks) with_stacks_.insert(key);
  }
  [[nodiscard]] bool has_stacks(const memory_key& key) const { return with_stacks_.contains(key); }
  /// Keeps totals for `pool` even without rows. `highest`: the maximum of the total bytes of the pool's blocks; nullopt
  /// if the pool has no blocks.
  void set_known(trace::pool_id pool, bool has_segments, std::optional<double> highest);
  /// Adds a sample of a pool from outside the section, such as the last sample before it.
  void set_known(trace::pool_id pool, std::uint64_t reserved, std::uint64_t used, time_ns time, trace::event_id event);
  /// Adds a sample of a device from outside the section, such as the last sample before it.
  void set_known(trace::device_id device, const device_samples::sample& sample);
  /// Adds a sample of a device's untracked bytes. From then on, untracked bytes are not computed from blocks.
  void set_known_untracked(trace::device_id device, const timeline::sample_step& sample);

  /// Updates the totals. Must be called before any query. O(changes + device samples).
  void settle(const trace::tables& tables);
  /// Treats a block that is missing from a checkpoint after a loss as freed. Must be called once the whole snapshot has
  /// been added.
  void reconcile();

  /// Frees the blocks but keeps the totals. Nothing can be added afterwards.
  void forget_blocks() {
    blocks_ = std::vector<block_record>();  // Assigning `{}` would keep the vector's memory.
    by_id_ = id_lookup();
    deaths_ = std::vector<std::uint32_t>();
  }

  /// All blocks, in order of first appearance; blocks known from the file come first. Callers must skip blocks whose
  /// `allocated` is false.
  [[nodiscard]] std::span<const block_record> blocks() const { return blocks_; }
  /// Positions in `blocks` of freed blocks, each once, in the order in which the frees were added. This is mostly the
  /// order of time.
  [[nodiscard]] std::span<const std::uint32_t> deaths() const { return deaths_; }
  [[nodiscard]] const block_record* find(trace::block_id id) const;
  /// True if any row refers to the block, even if that row is only a free.
  [[nodiscard]] bool known(trace::block_id id) const { return by_id_.find(raw(id)) != id_lookup::none; }
  [[nodiscard]] const std::map<memory_key, timeline::level_tree>& use() const { return use_; }
  [[nodiscard]] const std::map<trace::pool_id, pool_use>& pools() const { return pools_; }
  [[nodiscard]] const std::map<trace::device_id, device_samples>& devices() const { return devices_; }
  [[nodiscard]] std::span<const trace::alloc_failed_event> failed() const { return failed_; }
  [[nodiscard]] std::span<const trace::loss_event> losses() const { return losses_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// Blocks with contradictory rows, unsorted. A block may occur several times.
  [[nodiscard]] std::span<const trace::block_id> disputed() const { return disputed_; }

 private:
  struct checkpoint {
    trace::checkpoint_event about;
    bool seen = false;
    std::vector<trace::block_id> blocks;
  };

  block_record& at(trace::block_id id);
  /// Marks the block as freed at `time`, as far as the rows added so far show.
  void dies(block_record& block, time_ns time) {
    if (!block.freed()) deaths_.push_back(static_cast<std::uint32_t>(&block - blocks_.data()));
    block.died = time;
  }
  void put(const block_record& known, block_record& at);
  void birth(const trace::alloc_event& row, time_ns born);
  void count(const block_record& block, time_ns time, double sign);
  /// The curves that add up to a device's tracked memory.
  struct tracked {
    std::vector<const timeline::level_tree*> blocks;
    std::vector<const pool_use*> pools;
    [[nodiscard]] double at(time_ns time) const;
  };
  std::map<trace::device_id, tracked> tracked_by_device(const trace::tables& tables) const;
  void settle_untracked(device_samples& samples, const tracked& by) const;

  std::vector<block_record> blocks_;
  std::vector<std::uint32_t> deaths_;
  id_lookup by_id_;
  std::map<memory_key, timeline::level_tree> use_;
  recent_entry<std::map<memory_key, timeline::level_tree>> last_use_;
  std::map<trace::pool_id, pool_use> pools_;
  recent_entry<std::map<trace::pool_id, pool_use>> last_pool_;
  std::map<trace::device_id, device_samples> devices_;
  std::vector<trace::alloc_failed_event> failed_;
  std::vector<trace::loss_event> losses_;
  std::map<trace::event_id, checkpoint> checkpoints_;
  time_ns changed_from_ = latest_time + 1;  ///< Time of the earliest change since the last `settle`.
  void dispute(trace::block_id block) {
    ++malformed_;
    disputed_.push_back(block);
  }
  std::uint64_t malformed_ = 0;
  std::vector<trace::block_id> disputed_;
  std::set<memory_key> with_stacks_;  ///< Keys for which `set_known` was called with `stacks`.
  bool untracked_known_ = false;
};

/// True if bytes of this kind are always in device memory. False for managed memory, which moves.
[[nodiscard]] constexpr bool is_device_resident(trace::memory_kind kind) {
  return kind == trace::memory_kind::device || kind == trace::memory_kind::array ||
         kind == trace::memory_kind::physical;
}

/// True if bytes of this kind are in host memory, even if the allocating call names a device.
[[nodiscard]] constexpr bool is_host_resident(trace::memory_kind kind) {
  return kind == trace::memory_kind::pinned || kind == trace::memory_kind::host;
}

/// True if the block's device memory is not shared with a block of another process.
[[nodiscard]] inline bool takes_device_memory(const block_record& block) {
  return block.allocated && !block.imported() && is_device_resident(block.kind) && block.bytes > 0;
}

/// The block's size as a signed number, limited to 2^61 so that the sum of a few blocks does not overflow.
[[nodiscard]] inline std::int64_t signed_bytes(const block_record& block) {
  return static_cast<std::int64_t>(std::min(block.bytes, std::uint64_t{1} << 61U));
}

/// True if the driver manages the pool and its device memory is not already counted in driver-layer blocks.
[[nodiscard]] bool is_driver_pool(const trace::pool_row& row, bool has_segments);

}  // namespace sluice::index
