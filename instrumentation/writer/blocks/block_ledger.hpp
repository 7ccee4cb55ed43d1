#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/record_classes.hpp"
#include "instrumentation/writer/blocks/address_table.hpp"
#include "instrumentation/writer/blocks/recent_frees.hpp"
#include "instrumentation/writer/turn_clock.hpp"

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

/// The live blocks of one process, indexed by layer and address. Matches frees with allocations and writes both.
/// Host threads race, so a free may arrive before its allocation, or an allocation before the free of the
/// block that it replaces; each waits briefly for the other. Not thread-safe. Times are trace times.
class block_ledger {
 public:
  block_ledger(trace::file_writer& file, std::uint64_t& last_block) : file_(file), last_block_(last_block) {}

  /// Assigns the allocation's ids and its parent (the enclosing segment in the next layer
  /// below, unless `ties.parent` names one), writes it and returns its block. O(log live).
  trace::block_id add(trace::alloc_event& row, const block_ties& ties, const turn_clock& now);

  /// Ends the block at `request.row.address`. The free's row is written when the free has completed. Physical memory
  /// whose handle is released stays live until it is unmapped; a block that is in use several times, until its last
  /// free. O(log live).
  void remove(free_request& request, const turn_clock& now);

  /// Call when a context was destroyed: frees its blocks and everything inside them; these frees are marked as
  /// inferred. O(live).
  void end_context(trace::context_id context, trace::time_ns when);

  /// Call when graph `made` was made from `graph`: `made` then also keeps the memory of `graph` live.
  void add_graph(std::uint64_t graph, std::uint64_t made);
  /// Call when `graph` was destroyed: frees its memory unless another graph keeps that memory live. These frees are
  /// marked as inferred.
  void end_graph(std::uint64_t graph, trace::time_ns when);

  /// One block of a live set.
  struct known_block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    trace::layer layer{};
    trace::memory_kind kind{};
    trace::device_id device{};
  };
  /// The pools that a live set covers.
  struct set_scope {
    trace::pool_id pool = trace::pool_id::none;   ///< If not none, the set covers only this pool.
    std::unordered_set<trace::pool_id> others{};  ///< If `pool` is none, the set covers all blocks outside these pools.
  };
  /// After losses of memory events: makes the ledger match the set `live`, which the process sent at `from`. Frees
  /// blocks that the set lacks, and the user blocks inside them; these frees are marked as inferred. Blocks that the
  /// ledger lacks count as allocated before the recording. Leaves unchanged: blocks that changed after `from` or just
  /// before (`live_set_motion_ns`), blocks outside `scope`, and layers above the driver for which the set has no block
  /// (another recorder may know these layers), unless it is a pool's complete set. Returns the unchanged layers with
  /// live blocks. O(live).
  ring::layer_bits reconcile(const std::vector<known_block>& live, const set_scope& scope, trace::process_id process,
                             trace::time_ns from, const turn_clock& now);
  /// Call if `pools` no longer exist at `when`: frees their blocks, except blocks that changed just before `when`
  /// (`live_set_motion_ns`), and the user blocks inside freed blocks. These frees are marked as inferred. O(live).
  void end_pools(const std::unordered_set<trace::pool_id>& pools, trace::time_ns when, const turn_clock& now);

  /// Call when the latest free of `address` was completed, at `when`.
  void complete(trace::layer layer, std::uint64_t address, trace::time_ns when, const turn_clock& now);

  /// The block that contains `address`, in the highest layer with such a block. If no live block contains it, a block
  /// that was freed recently, because work enqueued before a stream-ordered free may be recorded after the free. None
  /// if there is no such block. O(1) if a block of the highest layer begins at `address`, else O(layers * log live).
  [[nodiscard]] trace::block_id find(std::uint64_t address) const {
    const trace::alloc_event* const begins = address == 0 ? nullptr : highest_->find(address);
    return begins != nullptr ? begins->block : find_inside(address);
  }
  [[nodiscard]] const trace::alloc_event* find_live(std::uint64_t address) const;

  /// The block that contained `address` at `when`, in the highest layer with such a block; none if there was none.
  /// Unlike `find`, ignores blocks freed before `when` or allocated after it, and arrays, whose address is a handle.
  /// O(1) if a block of the highest layer begins at `address`, else O(layers * log live).
  [[nodiscard]] trace::block_id find_at(std::uint64_t address, trace::time_ns when) const {
    const trace::alloc_event* const begins = address == 0 ? nullptr : highest_->find(address);
    const bool then = begins != nullptr && begins->time <= when && begins->kind != trace::memory_kind::array;
    return then ? begins->block : find_inside_at(address, when);
  }

  /// The driver's (or a driver pool's) block that contains `address`, and the physical memory with a handle. Null if
  /// there is none.
  [[nodiscard]] const trace::alloc_event* find_of_driver(std::uint64_t address) const;
  [[nodiscard]] const trace::alloc_event* find_physical(std::uint64_t handle) const;

  /// Writes frees that have not completed yet. A later completion is then added as an attribute.
  void write_freed();

  /// Bytes of device memory allocated from the driver: plain blocks, and blocks of its pools. O(1).
  [[nodiscard]] std::uint64_t device_bytes() const { return device_bytes_; }

  /// Call when no more records can come from the process: frees memory that only late records need, which is most of
  /// the ledger.
  void forget_past() {
    if (first_incomplete_ == incomplete_.size()) {
      std::vector<waiting_free>().swap(incomplete_);
      first_incomplete_ = 0;
    }
    for (live_map& blocks : live_) blocks.shrink_if_empty();
    retired_.clear();
    written_frees_.clear();
  }

  /// Writes rows that have waited long enough for a matching record or, with `everything`, all waiting rows.
  void settle(const turn_clock& now, bool everything);

  /// Calls `visit(const trace::alloc_event&)` for each live block.
  template <class Visit>
  void for_each_live(Visit&& visit) const {
    for (const auto& blocks : live_) {
      blocks.for_each(visit);
    }
  }
  [[nodiscard]] std::size_t live_blocks() const;

 private:
  /// A reservation, its physical memory and its mapping may have the same address, so each kind has a table of its own.
  static constexpr std::size_t spaces = 4;
  static constexpr std::size_t place_of(trace::layer layer, trace::memory_kind kind) {
    std::size_t space = 0;
    if (kind == trace::memory_kind::reservation) space = 1;
    if (kind == trace::memory_kind::physical) space = 2;
    if (kind == trace::memory_kind::mapping) space = 3;
    return static_cast<std::size_t>(layer) * spaces + space;
  }
  /// The tables to search for addresses that a program uses: two bits per layer; higher bits are searched first.
  using places = std::uint32_t;
  static constexpr places bit_of(std::size_t place) {
    const std::size_t space = place % spaces;
    if (space == 1 || space == 2) return 0;
    return places{1} << (place / spaces * 2 + (space == 0 ? 1 : 0));
  }
  /// The tables of all layers below `layer`.
  static constexpr places below(trace::layer layer) { return (places{1} << (static_cast<std::size_t>(layer) * 2)) - 1; }
  static constexpr std::size_t highest_bit(places where) { return static_cast<std::size_t>(std::bit_width(where)) - 1; }
  static constexpr std::size_t place_of_bit(std::size_t bit) { return bit / 2 * spaces + (bit % 2 == 1 ? 0 : 3); }
  void occupy(places now);
  [[nodiscard]] const trace::alloc_event* find_in(places where, std::uint64_t address) const;
  [[nodiscard]] trace::block_id find_inside(std::uint64_t address) const;
  [[nodiscard]] trace::block_id find_inside_at(std::uint64_t address, trace::time_ns when) const;

  struct waiting_free {
    free_request request;
    turn_clock since;
  };
  struct displaced_block {
    trace::alloc_event block;
    trace::time_ns displaced_at;
    turn_clock since;
  };
  struct retired_block {
    std::uint64_t address = 0;
    trace::block_id block{};
    std::uint64_t bytes = 0;
    trace::time_ns since = 0;  ///< Time of the allocation.
    trace::time_ns when = 0;   ///< Time of the free.
  };
  using live_map = address_table<trace::alloc_event>;
  /// The table and slot in which a block is or would be.
  struct location {
    std::size_t place;
    live_map::spot spot;
  };
  using address_key = std::pair<std::size_t, std::uint64_t>;  // Table and address.

  [[nodiscard]] const trace::alloc_event* containing(std::size_t place, std::uint64_t address) const;
  bool let_go(trace::block_id block);
  void remove_within(free_request& request, const turn_clock& now);
  void hold_physical(const trace::alloc_event& mapping, std::uint64_t handle);
  bool release_physical(const free_request& request, const trace::alloc_event& block);
  void let_go_of_physical(const free_request& request, const trace::alloc_event& mapping);
  void end_by_inference(const trace::alloc_event& block, trace::time_ns when);
  void end_unnamed(const std::vector<trace::alloc_event>& gone, trace::time_ns when);
  void end_orphans(trace::time_ns when, trace::time_ns still_moves);
  template <class Choose>
  void end_those(Choose&& choose, trace::time_ns when);
  [[nodiscard]] trace::block_id parent_of(const trace::alloc_event& row, std::uint64_t parent_address) const;
  bool match_early_free(const trace::alloc_event& row, std::size_t place, const turn_clock& now);
  bool match_displaced(free_request& request, std::size_t place, const turn_clock& now);
  trace::alloc_event* live_block(const free_request& request, location& where);
  void retire(const trace::alloc_event& block, std::size_t place, trace::time_ns when);
  void await_completion(const free_request& request, const turn_clock& now);
  void write(const free_request& request);
  void write_oldest_incomplete();
  void settle_early_frees(const turn_clock& now, bool everything);

  [[nodiscard]] location locate(std::size_t place, std::uint64_t address) {
    return {place, live_[place].locate(address)};
  }
  void put(const location& where, const trace::alloc_event& row);
  void erase(const location& where, const trace::alloc_event& block);
  void erase(std::size_t place, const trace::alloc_event& block) { erase(locate(place, block.address), block); }
  static std::uint64_t device_bytes_of(const trace::alloc_event& block);

  std::uint64_t device_bytes_ = 0;
  places occupied_ = 0;
  trace::file_writer& file_;
  std::uint64_t& last_block_;
  std::array<live_map, trace::layer_count * spaces> live_;
  const live_map* highest_ = live_.data();                     ///< The highest layer's table with blocks, or any table.
  std::multimap<address_key, waiting_free> early_frees_;       ///< Frees that arrived before their allocation.
  std::multimap<address_key, displaced_block> displaced_;      ///< Blocks replaced before their free arrived.
  std::vector<waiting_free> incomplete_;                       ///< Frees that wait for their completion, oldest first.
  std::size_t first_incomplete_ = 0;                           ///< Index of the first free that is not written yet.
  recent_frees<retired_block> retired_{std::size_t{1} << 12};  ///< Recently freed blocks.
  trace::time_ns last_retired_ = INT64_MIN;                    ///< The latest time of a free in `retired_`.
  recent_frees<trace::event_id> written_frees_{std::size_t{1} << 16};  ///< Rows of written frees, for late completions.

  struct physical_use {
    std::uint64_t mappings = 0;
    bool released = false;
    free_request request;  ///< The release of the handle, once its record has arrived.
  };
  std::unordered_map<std::uint64_t, physical_use> physical_;        ///< Uses of physical memory, by handle.
  std::unordered_map<trace::block_id, std::uint64_t> physical_of_;  ///< Handle of each mapping.
  std::unordered_map<trace::block_id, std::uint64_t> held_again_;   ///< Number of uses of a block beyond the first.
  struct memory_of_graph {
    std::vector<std::uint64_t> addresses;
    std::uint64_t holders = 1;
  };
  std::unordered_map<std::uint64_t, std::shared_ptr<memory_of_graph>> graphs_;
};

}  // namespace sluice::writer
