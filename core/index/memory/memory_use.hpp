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

/// Blocks and what they add up to over time.
namespace sluice::analysis {

/// A block's whole life, as far as the recording tells it.
struct block_record {
  trace::block_id id{};
  trace::block_id parent{};
  trace::event_id alloc{};
  trace::event_id free{};
  trace::process_id process{};
  trace::thread_id thread{};
  trace::device_id device{};  ///< None for host memory: no device owns it.
  trace::stream_id stream{};
  trace::pool_id pool{};
  trace::stack_id stack{};
  trace::string_id name{};
  time_ns born = trace::unknown_time;
  time_ns died = trace::unknown_time;  ///< Unknown: never freed.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t flags = 0;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  bool allocated = false;       ///< False while only its free has been seen.
  bool death_inferred = false;  ///< Not freed in any event, but gone from an exact checkpoint after a loss.

  [[nodiscard]] bool born_before() const { return (flags & trace::born_before) != 0; }
  /// Not freed, but in what followed the recording, which is a part.
  [[nodiscard]] bool freed_after() const { return (flags & trace::freed_after) != 0; }
  [[nodiscard]] bool freed() const { return died != trace::unknown_time; }
  /// Its bytes belong to another process and are counted there.
  [[nodiscard]] bool imported() const { return (flags & trace::ipc_import) != 0; }
  [[nodiscard]] bool live_at(time_ns time) const { return born <= time && (!freed() || died > time); }
  /// Live at some time in the range.
  [[nodiscard]] bool live_in(time_range range) const { return born < range.end && (!freed() || died > range.begin); }
};

/// What totals are kept by. Host kinds have no device.
struct memory_key {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  friend bool operator==(const memory_key&, const memory_key&) = default;
  friend bool operator<(const memory_key& a, const memory_key& b) {
    return std::tie(a.device, a.layer, a.kind) < std::tie(b.device, b.layer, b.kind);
  }
};

/// A pool's reserved and used bytes. `used` is what events say; `blocks` what its recorded blocks add up to.
struct pool_use {
  timeline::sample_tree reserved;
  timeline::sample_tree used;
  timeline::level_tree blocks;
  std::vector<time_ns> times;  ///< Of its events, in no order.
  bool has_segments = false;   ///< Driver-layer blocks name it: its reserved bytes are among the driver's blocks.
};

/// What was sampled of a device, and what follows from it.
struct device_samples {
  struct sample {
    time_ns time = 0;
    std::uint64_t order = 0;
    std::uint64_t free = 0;
    std::uint64_t total = 0;
    std::uint64_t recorder = 0;
  };
  std::vector<sample> samples;  ///< By (time, order) once settled.
  /// Once settled: the last one at or before `time`; null if there is none. O(log samples).
  [[nodiscard]] const sample* last_until(time_ns time) const {
    const auto behind = std::upper_bound(samples.begin(), samples.end(), time,
                                         [](time_ns t, const sample& each) { return t < each.time; });
    return behind == samples.begin() ? nullptr : &*(behind - 1);
  }
  timeline::sample_tree used;  ///< total - free.
  timeline::sample_tree recorder;
  timeline::sample_tree untracked;  ///< See untracked_statistics.
};

/// A checkpoint with all the blocks that a process has at a time.
struct complete_checkpoint {
  trace::process_id process{};
  time_ns time = 0;
  std::vector<trace::block_id> live;  ///< In order.
};

/// When each process first lost memory events, of those that did.
using first_losses = std::map<trace::process_id, time_ns>;
void note(const trace::loss_event& row, first_losses& in);

/// Whether a checkpoint, of which there are `listed` blocks, tells of blocks that died unseen: it is complete, and memory events of its
/// process were lost before. O(log processes).
[[nodiscard]] bool tells_of_deaths(const trace::checkpoint_event& about, std::size_t listed,
                                   const first_losses& losses);

/// Takes memory events in any order and keeps totals that can be asked at any zoom. Not thread-safe.
///
/// A block counts from the time the host had it to the time its free was asked for. Nothing that a file says is
/// trusted: unknown blocks, second births and ends before begins are counted in `malformed` and left out.
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

  /// About so many blocks will be told or carried, and then so many more be born. Before any.
  void expect(std::size_t told, std::size_t born) {
    blocks_.reserve(told + born);
    by_id_.expect(told);
  }
  /// No more will be told: those that are born now have ids that follow one another.
  void expect_births(std::size_t born) { by_id_.expect_run(born); }

  /// What a checkpoint says after events were lost: a block that its process had before and that it does not list died unseen, at that
  /// time, if no row here frees it, nor one anywhere, as `freed` knows. O(blocks * log live).
  void infer_deaths(const complete_checkpoint& by, const id_set* freed = nullptr);

  /// A block whose whole life is known from elsewhere: what rows say of it counts no more. Before any row.
  void set_known(const block_record& block);
  /// A block of which other rows told: that it was allocated, or only that it was freed. Rows here tell how it goes on. Before any row.
  void continue_from(const block_record& block);
  /// Totals of this kind are kept, be there blocks or not; over the whole recording they reach `highest` bytes, and some of their
  /// blocks have `stacks`.
  void set_known(const memory_key& key, double highest, bool stacks) {
    use_[key].tell_highest(highest);
    if (stacks) with_stacks_.insert(key);
  }
  [[nodiscard]] bool told_of_stacks(const memory_key& key) const { return with_stacks_.contains(key); }
  /// Likewise of a pool, whose blocks reach `highest` bytes if it has any.
  void set_known(trace::pool_id pool, bool has_segments, std::optional<double> highest);
  /// What a pool said last before the part that there are rows of.
  void set_known(trace::pool_id pool, std::uint64_t reserved, std::uint64_t used, time_ns time, trace::event_id event);
  /// Likewise of a device.
  void set_known(trace::device_id device, const device_samples::sample& sample);
  /// What was not tracked at a sample. Then that is not worked out from what is here.
  void set_known_untracked(trace::device_id device, const timeline::sample_step& sample);

  /// Brings totals up to date; before any question. O(what changed), and the samples of devices.
  void settle(const trace::tables& tables);
  /// All of a snapshot has been added: blocks that a checkpoint after a loss does not know are taken to be gone.
  void reconcile();

  /// Leaves what they add up to. Nothing can be added after.
  void forget_blocks() {
    blocks_ = std::vector<block_record>();  // `{}` would leave the vector its memory.
    by_id_ = id_lookup();
    deaths_ = std::vector<std::uint32_t>();
  }

  /// In order of first appearance, those carried or told first. Only those with `allocated` mean anything.
  [[nodiscard]] std::span<const block_record> blocks() const { return blocks_; }
  /// Positions in `blocks` of those that were freed, each once, in the order in which that was told: most often in order of time.
  [[nodiscard]] std::span<const std::uint32_t> deaths() const { return deaths_; }
  [[nodiscard]] const block_record* find(trace::block_id id) const;
  /// Whether any row names it, be it only one that frees it.
  [[nodiscard]] bool known(trace::block_id id) const { return by_id_.find(raw(id)) != id_lookup::none; }
  [[nodiscard]] const std::map<memory_key, timeline::level_tree>& use() const { return use_; }
  [[nodiscard]] const std::map<trace::pool_id, pool_use>& pools() const { return pools_; }
  [[nodiscard]] const std::map<trace::device_id, device_samples>& devices() const { return devices_; }
  [[nodiscard]] std::span<const trace::alloc_failed_event> failed() const { return failed_; }
  [[nodiscard]] std::span<const trace::loss_event> losses() const { return losses_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  /// Blocks of which rows say what cannot all be true: some in several places, in no order.
  [[nodiscard]] std::span<const trace::block_id> disputed() const { return disputed_; }

 private:
  struct checkpoint {
    trace::checkpoint_event about;
    bool seen = false;
    std::vector<trace::block_id> blocks;
  };

  block_record& at(trace::block_id id);
  /// It was freed at that time, as far as is known.
  void dies(block_record& block, time_ns time) {
    if (!block.freed()) deaths_.push_back(static_cast<std::uint32_t>(&block - blocks_.data()));
    block.died = time;
  }
  void put(const block_record& known, block_record& at);
  void birth(const trace::alloc_event& row, time_ns born);
  void count(const block_record& block, time_ns time, double sign);
  /// What a device's tracked memory is the sum of.
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
  time_ns changed_from_ = latest_time + 1;  ///< Of what was added since `settle`.
  void dispute(trace::block_id block) {
    ++malformed_;
    disputed_.push_back(block);
  }
  std::uint64_t malformed_ = 0;
  std::vector<trace::block_id> disputed_;
  std::set<memory_key> with_stacks_;  ///< Only what was told.
  bool untracked_told_ = false;
};

/// Whether bytes of this kind lie in a device's memory for certain (managed memory moves).
[[nodiscard]] constexpr bool is_device_resident(trace::memory_kind kind) {
  return kind == trace::memory_kind::device || kind == trace::memory_kind::array ||
         kind == trace::memory_kind::physical;
}

/// Whether bytes of this kind lie in host memory, whatever device the call was made for.
[[nodiscard]] constexpr bool is_host_resident(trace::memory_kind kind) {
  return kind == trace::memory_kind::pinned || kind == trace::memory_kind::host;
}

/// Whether the driver manages the pool and holds device memory for it that no driver-layer block accounts for.
[[nodiscard]] bool is_driver_pool(const trace::pool_row& row, bool has_segments);

}  // namespace sluice::analysis
