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

namespace sluice::collector {

/// How long before its moment a set of live blocks does not tell what moved. A simulated recording is told at its end only, when
/// nothing moves any more.
[[nodiscard]] constexpr trace::time_ns in_motion(const turn_clock& now) {
  return now.simulated ? 0 : live_set_motion_ns;
}

/// A free on its way into the file.
struct free_request {
  trace::free_event row;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t range = 0;  ///< Of an unmapping: every mapping that begins in so many bytes ends.
};

/// What an allocation says beside its row.
struct block_ties {
  std::uint64_t parent = 0;  ///< Address of the segment of the next layer below; 0: it is looked up.
  std::uint64_t owner = 0;   ///< Of a mapping its physical memory's handle, of a graph's memory the graph's.
  bool shared = false;       ///< What lies there already is held once more.
};

/// What is allocated in one process, by layer and address; matches frees with allocations and writes both. Host threads
/// race, so a free may come before its allocation and an allocation before the free of what lay there: each waits a while
/// for the other. Not thread-safe. Times are the trace's.
class block_ledger {
 public:
  block_ledger(trace::file_writer& file, std::uint64_t& last_block) : file_(file), last_block_(last_block) {}

  /// Gives the allocation its ids and its parent (the segment of the next layer below that holds it, unless
  /// `ties.parent` names one), writes it and returns its block. O(log live).
  trace::block_id add(trace::alloc_event& row, const block_ties& ties, const turn_clock& now);

  /// Ends the block at `request.row.address`. The row waits for its completion. Physical memory whose handle is released lives
  /// on while it is mapped; what is held more than once, until the last one lets go. O(log live).
  void remove(free_request& request, const turn_clock& now);

  /// What was allocated in `context`, and what lies in that, has gone with it: freed, inferred. O(live).
  void end_context(trace::context_id context, trace::time_ns when);

  /// The graph `made` holds the memory of `graph` as well.
  void add_graph(std::uint64_t graph, std::uint64_t made);
  /// `graph` is destroyed: its memory goes unless another holds it. Freed, inferred.
  void end_graph(std::uint64_t graph, trace::time_ns when);

  /// One of the blocks that a process says are live.
  struct known_block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    trace::layer layer{};
    trace::memory_kind kind{};
    trace::device_id device{};
  };
  /// What a sender of such blocks knows.
  struct set_scope {
    trace::pool_id pool = trace::pool_id::none;   ///< This pool alone; none: more than that,
    std::unordered_set<trace::pool_id> others{};  ///< but nothing of these.
  };
  /// Makes the live set what the process said from `from` on, after memory events were lost: what it does not name was
  /// freed, inferred, and so was what users had in that; what was not known was born before. What moved since, or right before
  /// (`live_set_motion_ns`), is left to its own records, and so is what is out of the set's scope, and a layer that it names nothing
  /// of, for another recorder in the process may have it, unless all of a pool's is known. Returns layers that were left alone though
  /// blocks of them live. O(live).
  layer_bits reconcile(const std::vector<known_block>& live, const set_scope& scope, trace::process_id process,
                       trace::time_ns from, const turn_clock& now);
  /// These pools are gone at `when`: so is what they held before (`live_set_motion_ns`), and what users had in that. Freed,
  /// inferred. O(live).
  void end_pools(const std::unordered_set<trace::pool_id>& pools, trace::time_ns when, const turn_clock& now);

  /// The latest free of `address` was completed at `when`.
  void complete(trace::layer layer, std::uint64_t address, trace::time_ns when, const turn_clock& now);

  /// The block that holds `address`, of the highest layer that has one; one freed lately if none is live: work that was
  /// enqueued before a stream-ordered free may be seen after it. None if it is unknown. O(1) where a block of the highest layer
  /// begins, else O(layers * log live).
  [[nodiscard]] trace::block_id find(std::uint64_t address) const {
    const trace::alloc_event* const begins = address == 0 ? nullptr : highest_->find(address);
    return begins != nullptr ? begins->block : find_inside(address);
  }
  [[nodiscard]] const trace::alloc_event* find_live(std::uint64_t address) const;

  /// The block of the driver's, or of one of its pools, that holds `address`; the physical memory of this handle. Null: there is none.
  [[nodiscard]] const trace::alloc_event* find_of_driver(std::uint64_t address) const;
  [[nodiscard]] const trace::alloc_event* find_physical(std::uint64_t handle) const;

  /// Writes the frees that wait for their completion only; that comes as an attribute of theirs then.
  void write_freed();

  /// Bytes of device memory that the driver has given out: plain blocks, and blocks of its pools. O(1).
  [[nodiscard]] std::uint64_t device_bytes() const { return device_bytes_; }

  /// Nothing more comes of the process: forgets what only late records ask for, which is most of the memory that a ledger takes.
  void forget_past() {
    if (first_incomplete_ == incomplete_.size()) {
      std::vector<waiting_free>().swap(incomplete_);
      first_incomplete_ = 0;
    }
    for (live_map& blocks : live_) blocks.shrink_if_empty();
    retired_.clear();
    written_frees_.clear();
  }

  /// Writes what has waited long enough; all of it if `everything`.
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
  /// A reservation, its physical memory and the mapping between them may have the same address: they are apart here.
  static constexpr std::size_t spaces = 4;
  static constexpr std::size_t place_of(trace::layer layer, trace::memory_kind kind) {
    std::size_t space = 0;
    if (kind == trace::memory_kind::reservation) space = 1;
    if (kind == trace::memory_kind::physical) space = 2;
    if (kind == trace::memory_kind::mapping) space = 3;
    return static_cast<std::size_t>(layer) * spaces + space;
  }
  /// Places where addresses that a program uses are looked for, two a layer: a bit each, the higher the earlier.
  using places = std::uint32_t;
  static constexpr places bit_of(std::size_t place) {
    const std::size_t space = place % spaces;
    if (space == 1 || space == 2) return 0;
    return places{1} << (place / spaces * 2 + (space == 0 ? 1 : 0));
  }
  /// Those of the layers below.
  static constexpr places below(trace::layer layer) { return (places{1} << (static_cast<std::size_t>(layer) * 2)) - 1; }
  static constexpr std::size_t highest_bit(places where) { return static_cast<std::size_t>(std::bit_width(where)) - 1; }
  static constexpr std::size_t place_of_bit(std::size_t bit) { return bit / 2 * spaces + (bit % 2 == 1 ? 0 : 3); }
  void occupy(places now);
  [[nodiscard]] const trace::alloc_event* find_in(places where, std::uint64_t address) const;
  [[nodiscard]] trace::block_id find_inside(std::uint64_t address) const;

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
    trace::time_ns when = 0;
  };
  using live_map = address_table<trace::alloc_event>;
  /// Where a block lies, or would lie.
  struct location {
    std::size_t place;
    live_map::spot spot;
  };
  using address_key = std::pair<std::size_t, std::uint64_t>;  // Place and address.

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
  const live_map* highest_ = live_.data();                     ///< Of the places that are occupied; any if none is.
  std::multimap<address_key, waiting_free> early_frees_;       ///< Before their allocation.
  std::multimap<address_key, displaced_block> displaced_;      ///< Allocated over; their free is still to come.
  std::vector<waiting_free> incomplete_;                       ///< Waiting for their completion, oldest first.
  std::size_t first_incomplete_ = 0;                           ///< Those before it have been written.
  recent_frees<retired_block> retired_{std::size_t{1} << 12};  ///< Freed lately.
  recent_frees<trace::event_id> written_frees_{std::size_t{1} << 16};  ///< For completions that come late.

  struct physical_use {
    std::uint64_t mappings = 0;
    bool released = false;
    free_request request;  ///< The release, once there was one.
  };
  std::unordered_map<std::uint64_t, physical_use> physical_;        ///< By handle.
  std::unordered_map<trace::block_id, std::uint64_t> physical_of_;  ///< A mapping's handle.
  std::unordered_map<trace::block_id, std::uint64_t> held_again_;   ///< How often more than once.
  struct memory_of_graph {
    std::vector<std::uint64_t> addresses;
    std::uint64_t holders = 1;
  };
  std::unordered_map<std::uint64_t, std::shared_ptr<memory_of_graph>> graphs_;
};

}  // namespace sluice::collector
