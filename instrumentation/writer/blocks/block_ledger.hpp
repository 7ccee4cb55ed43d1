#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/trace/model/model.hpp"
#include "instrumentation/ring/record_classes.hpp"
#include "instrumentation/writer/blocks/block_rows.hpp"
#include "instrumentation/writer/blocks/free_completions.hpp"
#include "instrumentation/writer/blocks/freed_blocks.hpp"
#include "instrumentation/writer/blocks/graph_allocations.hpp"
#include "instrumentation/writer/blocks/live_block_tables.hpp"
#include "instrumentation/writer/blocks/physical_memory.hpp"
#include "instrumentation/writer/blocks/unmatched_frees.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

/// A live set (a process's list of its live blocks) may lack changes made less than this many ns before the set was
/// sent. 0 for a simulated recording, which sends its only set at the end, when nothing changes any more.
[[nodiscard]] constexpr trace::time_ns in_motion(const turn_clock& now) {
  return now.simulated ? 0 : ring::live_set_motion_ns;
}

/// A free that is being processed.
struct free_request {
  trace::free_event row;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t range = 0;  ///< For an unmapping: size of the range in bytes; all mappings that begin there end.
};

/// Properties of an allocation that are not in its row.
struct block_ties {
  std::uint64_t parent = 0;  ///< Address of the segment in the next layer below; 0: unknown, so look it up.
  std::uint64_t owner = 0;   ///< For a mapping: handle of its physical memory; for graph memory: the graph.
  bool shared = false;       ///< If true and the block is already live, only the block's use count grows.
};

/// The live blocks of one process, indexed by layer and address. Matches frees with allocations. Functions that take
/// `rows` add finished rows to it, and the caller writes these rows to the file. Host threads race, so a free may
/// arrive before its allocation, or an allocation before the free of the block that it replaces; each waits briefly for
/// the other. Not thread-safe. Times are trace times.
class block_ledger {
 public:
  /// `last_block`: the last block id assigned, which all processes share.
  explicit block_ledger(std::uint64_t& last_block) : last_block_(last_block) {}

  /// Adds the block that `row` allocates. Fills in the ids and the parent of `row`: the enclosing segment in the next
  /// layer below, unless `ties.parent` names another. Returns true if the block is new: the caller then writes `row`
  /// before `rows`. Returns false if the block is already live: `row` is then not written. O(log live).
  [[nodiscard]] bool add(trace::alloc_event& row, const block_ties& ties, const turn_clock& now, block_rows& rows);

  /// Ends the block at `request.row.address`. The free's row is added when the free has completed. Physical memory
  /// whose handle is released stays live until it is unmapped; a block that is in use several times, until its last
  /// free. O(log live).
  void remove(free_request& request, const turn_clock& now, block_rows& rows);

  /// Call when a context has been destroyed. Frees its blocks and everything inside them, and marks these frees as
  /// inferred. O(live).
  void end_context(trace::context_id context, trace::time_ns time, block_rows& rows);

  /// Call when graph `copy` was made from `graph`: `copy` then also keeps the memory of `graph` live.
  void add_graph(std::uint64_t graph, std::uint64_t copy) { graphs_.share(graph, copy); }
  /// Call when `graph` was destroyed: frees its memory unless another graph keeps that memory live. These frees are
  /// marked as inferred.
  void end_graph(std::uint64_t graph, trace::time_ns time, block_rows& rows);

  /// One block of a live set.
  struct known_block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    trace::layer layer{};
    trace::memory_kind kind{};
    trace::device_id device{};
  };
  /// A live set: the blocks that a process has in some of its pools.
  struct known_set {
    std::vector<known_block> blocks;
    trace::time_ns time = trace::unknown_time;    ///< When the process began to send the set.
    trace::pool_id pool = trace::pool_id::none;   ///< If not none, the set covers only this pool.
    std::unordered_set<trace::pool_id> others{};  ///< If `pool` is none, the set covers all blocks outside these pools.
  };
  /// After losses of memory events: makes the ledger match the set `live`, which `process` sent. Frees blocks that the
  /// set lacks, and the user blocks inside them; these frees are marked as inferred. Blocks that the ledger lacks count
  /// as allocated before the recording. Leaves unchanged: blocks that changed after `live.time` or just before
  /// (`live_set_motion_ns`), blocks of other pools, and layers above the driver for which the set has no block (another
  /// recorder may know these layers), unless it is a pool's complete set. Returns the layers with live blocks that were
  /// left unchanged for this last reason. O(live).
  ring::layer_bits reconcile(const known_set& live, trace::process_id process, const turn_clock& now, block_rows& rows);
  /// Call if `pools` no longer exist at `time`: frees their blocks, except blocks that changed just before `time`
  /// (`live_set_motion_ns`), and the user blocks inside freed blocks. These frees are marked as inferred. O(live).
  void end_pools(const std::unordered_set<trace::pool_id>& pools, trace::time_ns time, const turn_clock& now,
                 block_rows& rows);

  /// Call when the latest free of `address` was completed, at `time`.
  void complete(trace::layer layer, std::uint64_t address, trace::time_ns time, const turn_clock& now,
                block_rows& rows);

  /// The block that contains `address`, in the highest layer with such a block. If no live block contains it, a block
  /// that was freed recently, because work enqueued before a stream-ordered free may be recorded after the free. None
  /// if there is no such block. O(1) if a block of the highest layer begins at `address`, else O(layers * log live).
  [[nodiscard]] trace::block_id find(std::uint64_t address) const {
    const trace::alloc_event* const begins = live_.beginning_at(address);
    return begins != nullptr ? begins->block : find_inside(address);
  }
  /// Like `find`, but returns the whole row, and only of a live block. Null if there is none.
  [[nodiscard]] const trace::alloc_event* find_live(std::uint64_t address) const { return live_.innermost(address); }

  /// The block that contained `address` at `time`, in the highest layer with such a block; none if there was none.
  /// Unlike `find`, ignores blocks freed before `time` or allocated after it, and arrays, whose address is a handle.
  /// O(1) if a block of the highest layer begins at `address`, else O(layers * log live).
  [[nodiscard]] trace::block_id find_at(std::uint64_t address, trace::time_ns time) const {
    const trace::alloc_event* const begins = live_.beginning_at(address);
    const bool then = begins != nullptr && begins->time <= time && begins->kind != trace::memory_kind::array;
    return then ? begins->block : find_inside_at(address, time);
  }

  /// The driver's (or a driver pool's) block that contains `address`, and the physical memory with a handle. Null if
  /// there is none.
  [[nodiscard]] const trace::alloc_event* find_in_driver(std::uint64_t address) const;
  [[nodiscard]] const trace::alloc_event* find_physical(std::uint64_t handle) const;

  /// Adds the rows of frees that have not completed yet. A later completion is then added as a row of its own.
  void write_freed(block_rows& rows) { completions_.settle({}, true, rows); }

  /// Bytes of device memory allocated from the driver: plain blocks, and blocks of its pools. O(1).
  [[nodiscard]] std::uint64_t device_bytes() const { return live_.device_bytes(); }

  /// Call when no more records can come from the process: frees memory that only late records need, which is most of
  /// the ledger.
  void forget_past() {
    completions_.forget_past();
    live_.shrink();
    freed_.clear();
  }

  /// Adds rows that have waited long enough for a matching record or, with `everything`, all waiting rows.
  void settle(const turn_clock& now, bool everything, block_rows& rows) {
    completions_.settle(now, everything, rows);
    unmatched_.settle(now, everything, completions_, rows);
  }

  /// Calls `visit(const trace::alloc_event&)` for each live block.
  template <class Visit>
  void for_each_live(Visit&& visit) const {
    live_.for_each(visit);
  }
  [[nodiscard]] std::size_t live_blocks() const { return live_.size(); }

 private:
  [[nodiscard]] trace::block_id find_inside(std::uint64_t address) const;
  [[nodiscard]] trace::block_id find_inside_at(std::uint64_t address, trace::time_ns time) const;
  bool match_early_free(const trace::alloc_event& row, std::size_t table, const turn_clock& now, block_rows& rows);
  [[nodiscard]] const trace::alloc_event* find_to_free(const free_request& request, live_block_tables::location& where);
  bool end_one_use(trace::block_id block);
  void remove_inside_range(free_request& request, const turn_clock& now, block_rows& rows);
  void end_mapping(const trace::alloc_event& mapping, trace::time_ns time, block_rows& rows);
  void end_block(const trace::alloc_event& block, trace::time_ns time, block_rows& rows);
  void end_missing(const std::vector<trace::alloc_event>& missing, trace::time_ns time, block_rows& rows);
  void end_orphans(trace::time_ns time, trace::time_ns unchanged_since, block_rows& rows);
  template <class Choose>
  void end_chosen(Choose&& choose, trace::time_ns time, block_rows& rows);
  [[nodiscard]] std::vector<trace::alloc_event> missing_blocks(const known_set& live, trace::time_ns unchanged_since,
                                                               ring::layer_bits& skipped) const;

  std::uint64_t& last_block_;
  live_block_tables live_;
  freed_blocks freed_;
  unmatched_frees unmatched_;
  free_completions completions_;
  physical_memory physical_;
  graph_allocations graphs_;
  std::unordered_map<trace::block_id, std::uint64_t> more_uses_;  ///< Number of uses of a block beyond the first.
};

}  // namespace sluice::writer
