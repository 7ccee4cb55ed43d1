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
#include "core/timeline/time_range.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Memory blocks, and the total bytes of blocks over time.
namespace sluice::analysis {

/// The whole life of a block, or the part of it that was recorded.
struct block_record {
  trace::block_id id{};
  trace::block_id parent{};
  trace::event_id alloc{};
  trace::event_id free{};
  trace::process_id process{};
  trace::thread_id thread{};
  trace::device_id device{};  ///< None for host memory, which no device owns.
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
  bool death_inferred = false;  ///< No free event; missing from an exact checkpoint after a loss of events.

  [[nodiscard]] bool born_before() const { return (flags & trace::born_before) != 0; }
  /// True if freed after the end of this recording, which is a part of a longer recording.
  [[nodiscard]] bool freed_after() const { return (flags & trace::freed_after) != 0; }
  [[nodiscard]] bool freed() const { return died != trace::unknown_time; }
  /// True if the bytes belong to another process and are counted there.
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

/// The total that the block counts in.
[[nodiscard]] inline memory_key key_of(const block_record& block) { return {block.device, block.layer, block.kind}; }

/// A pool's reserved and used bytes. `used` is what pool events report; `blocks` is the sum of the recorded blocks.
struct pool_use {
  timeline::sample_tree reserved;
  timeline::sample_tree used;
  timeline::level_tree blocks;
  std::vector<time_ns> times;  ///< Times of the pool's events, unordered.
  bool has_segments = false;   ///< The pool has driver-layer blocks, which already count its reserved bytes.
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
  /// Returns the last sample at or before `time`; null if there is none. Call after `settle`. O(log samples).
  [[nodiscard]] const sample* last_until(time_ns time) const {
    const auto behind = std::upper_bound(samples.begin(), samples.end(), time,
                                         [](time_ns t, const sample& each) { return t < each.time; });
    return behind == samples.begin() ? nullptr : &*(behind - 1);
  }
  timeline::sample_tree used;  ///< total - free.
  timeline::sample_tree recorder;
  timeline::sample_tree untracked;  ///< `used` - `recorder` - driver-layer blocks - what driver pools reserve; >= 0.
};

/// A checkpoint that lists all live blocks of a process at one time.
struct complete_checkpoint {
  trace::process_id process{};
  time_ns time = 0;
  std::vector<trace::block_id> live;  ///< Sorted.
};

/// For each process that lost memory events, the time of the first loss.
using first_losses = std::map<trace::process_id, time_ns>;
void note(const trace::loss_event& row, first_losses& in);

/// True if blocks missing from the checkpoint must have died: it is exact and complete (`listed` is the number of
/// blocks found for it), and its process lost memory events before it. O(log processes).
[[nodiscard]] bool shows_lost_frees(const trace::checkpoint_event& about, std::size_t listed,
                                    const first_losses& losses);

/// Collects memory events, in any order, and keeps totals that can be queried at any zoom. Not thread-safe.
///
/// A block counts from the time the host had it until its free was requested. File content is not trusted: unknown
/// blocks, second births and ends before begins are counted in `malformed` and ignored.
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

  /// Reserves space for `told` blocks known from the file and then `born` other blocks. Call before adding anything.
  void expect(std::size_t known, std::size_t born) {
    blocks_.reserve(known + born);
    by_id_.expect(known);
  }
  /// Call after the last known block: the ids of blocks born from now on are consecutive.
  void expect_births(std::size_t born) { by_id_.expect_run(born); }

  /// Applies a checkpoint taken after a loss of events. Blocks of its process that the checkpoint does not list count
  /// as dead from its time on, unless freed by a row here or in `freed` (all recorded frees). O(blocks * log live).
  void infer_deaths(const complete_checkpoint& by, const id_set* freed = nullptr);

  /// Adds a block whose whole life is known from the file; rows about it are then ignored. Call before adding rows.
  void set_known(const block_record& block);
  /// Adds a block in the state in which earlier rows left it (allocated, or only freed). Call before adding later rows.
  void continue_from(const block_record& block);
  /// Keeps a total for `key` even without blocks. `highest`: the total's maximum over the whole recording, in bytes.
  /// `stacks`: some block of this key has a stack.
  void set_known(const memory_key& key, double highest, bool stacks) {
    use_[key].set_highest(highest);
    if (stacks) with_stacks_.insert(key);
  }
  [[nodiscard]] bool has_stacks(const memory_key& key) const { return with_stacks_.contains(key); }
  /// Keeps totals for `pool` even without rows. `highest`: the maximum bytes of its blocks; none: no blocks.
  void set_known(trace::pool_id pool, bool has_segments, std::optional<double> highest);
  /// Adds a sample of a pool from outside the section, such as the last sample before it.
  void set_known(trace::pool_id pool, std::uint64_t reserved, std::uint64_t used, time_ns time, trace::event_id event);
  /// Adds a sample of a device from outside the section, such as the last sample before it.
  void set_known(trace::device_id device, const device_samples::sample& sample);
  /// Adds a sample of a device's untracked bytes. From then on untracked bytes are no longer computed from blocks.
  void set_known_untracked(trace::device_id device, const timeline::sample_step& sample);

  /// Updates the totals. Call before any query. O(changes), plus the device samples.
  void settle(const trace::tables& tables);
  /// Call when a whole snapshot has been added: takes blocks missing from a checkpoint after a loss to have died.
  void reconcile();

  /// Frees the blocks but keeps the totals. Nothing can be added afterwards.
  void forget_blocks() {
    blocks_ = std::vector<block_record>();  // `{}` would leave the vector its memory.
    by_id_ = id_lookup();
    deaths_ = std::vector<std::uint32_t>();
  }

  /// All blocks in order of first appearance, blocks known from the file first. Skip blocks whose `allocated` is false.
  [[nodiscard]] std::span<const block_record> blocks() const { return blocks_; }
  /// Positions in `blocks` of freed blocks, each once, in the order the frees were added: mostly in order of time.
  [[nodiscard]] std::span<const std::uint32_t> deaths() const { return deaths_; }
  [[nodiscard]] const block_record* find(trace::block_id id) const;
  /// True if any row refers to the block, even if only a free.
  [[nodiscard]] bool known(trace::block_id id) const { return by_id_.find(raw(id)) != id_lookup::none; }
  [[nodiscard]] const std::map<memory_key, timeline::level_tree>& use() const { return use_; }
  [[nodiscard]] const std::map<trace::pool_id, pool_use>& pools() const { return pools_; }
  [[nodiscard]] const std::map<trace::device_id, device_samples>& devices() const { return devices_; }
  [[nodiscard]] std::span<const trace::alloc_failed_event> failed() const { return failed_; }
  [[nodiscard]] std::span<const trace::loss_event> losses() const { return losses_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// Blocks with contradictory rows, unordered; some occur several times.
  [[nodiscard]] std::span<const trace::block_id> disputed() const { return disputed_; }

 private:
  struct checkpoint {
    trace::checkpoint_event about;
    bool seen = false;
    std::vector<trace::block_id> blocks;
  };

  block_record& at(trace::block_id id);
  /// Marks the block as freed at `time`, according to what is known so far.
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
  void settle_untracked(device_samples& of, const tracked& by) const;

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
  std::set<memory_key> with_stacks_;  ///< Keys given to `set_known` with `stacks`.
  bool untracked_known_ = false;
};

/// True if bytes of this kind are always in device memory (managed memory moves).
[[nodiscard]] constexpr bool is_device_resident(trace::memory_kind kind) {
  return kind == trace::memory_kind::device || kind == trace::memory_kind::array ||
         kind == trace::memory_kind::physical;
}

/// True if bytes of this kind are in host memory, whatever device the call was for.
[[nodiscard]] constexpr bool is_host_resident(trace::memory_kind kind) {
  return kind == trace::memory_kind::pinned || kind == trace::memory_kind::host;
}

/// True if the block takes memory of a device that it does not share with a block of another process.
[[nodiscard]] inline bool takes_device_memory(const block_record& block) {
  return block.allocated && !block.imported() && is_device_resident(block.kind) && block.bytes > 0;
}

/// The bytes of a block as a number that can be subtracted: cut at 2^61, so that sums of a few stay in range.
[[nodiscard]] inline std::int64_t signed_bytes(const block_record& block) {
  return static_cast<std::int64_t>(std::min(block.bytes, std::uint64_t{1} << 61U));
}

/// True if the driver manages the pool and its device memory is not already counted in driver-layer blocks.
[[nodiscard]] bool is_driver_pool(const trace::pool_row& row, bool has_segments);

}  // namespace sluice::analysis
