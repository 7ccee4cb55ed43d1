#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/trace/model/model.hpp"
#include "instrumentation/writer/blocks/block_rows.hpp"
#include "instrumentation/writer/blocks/free_completions.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

/// Frees and blocks of one process whose counterpart is late, because threads race: frees that arrived before their
/// allocation, and blocks that another block replaced before their free arrived. Each waits briefly. `table`: the
/// number of a table of `live_block_tables`. Not thread-safe. Operations are O(log waiting) unless they say otherwise.
class unmatched_frees {
 public:
  /// Adds a free for which there is no block.
  void add_free(std::size_t table, const trace::free_event& row, const turn_clock& now);
  /// True if a free waits. O(1).
  [[nodiscard]] bool has_frees() const { return !frees_.empty(); }
  /// Takes out a free for the block, unless the free is older than the block. Nothing if there is none.
  std::optional<trace::free_event> take_free(std::size_t table, const trace::alloc_event& block);
  /// Stores the completion of a waiting free. Returns false if no free of `address` waits. O(waiting).
  bool complete(trace::layer layer, std::uint64_t address, trace::time_ns time, const turn_clock& now);

  /// Adds a block whose address was allocated again at `replaced`, before the block was freed.
  void add_block(std::size_t table, const trace::alloc_event& block, trace::time_ns replaced, const turn_clock& now);
  /// Takes out a block for the free, unless the block is newer than the free. Nothing if there is none.
  std::optional<trace::block_id> take_block(std::size_t table, const trace::free_event& row);

  /// Ends the waits that have lasted long enough or, with `everything`, all waits. Writes the frees without a block
  /// through `completions`, and an inferred free for each replaced block. O(waiting).
  void settle(const turn_clock& now, bool everything, free_completions& completions, block_rows& rows);

 private:
  struct waiting_free {
    trace::free_event row;
    turn_clock since;
  };
  struct replaced_block {
    trace::alloc_event block;
    trace::time_ns replaced;
    turn_clock since;
  };
  using address_key = std::pair<std::size_t, std::uint64_t>;  ///< Table and address.

  std::multimap<address_key, waiting_free> frees_;
  std::multimap<address_key, replaced_block> blocks_;
};

/// A free of `block` at `time` that was not recorded.
[[nodiscard]] trace::free_event inferred_free(const trace::alloc_event& block, trace::time_ns time);

}  // namespace sluice::writer
