#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/trace/model/model.hpp"
#include "instrumentation/writer/blocks/block_rows.hpp"
#include "instrumentation/writer/blocks/recent_frees.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

/// True if a completion in layer `completed` may belong to a free in layer `freed`: a free by the driver may be for a
/// block of one of its pools.
[[nodiscard]] constexpr bool may_complete(trace::layer completed, trace::layer freed) {
  return completed == freed || (completed == trace::layer::driver && freed == trace::layer::pool);
}

/// The frees of one process whose block is known but whose completion has not been recorded. Each waits briefly for the
/// completion, and then becomes a row without it. A completion that comes even later becomes a row of its own. Not
/// thread-safe.
class free_completions {
 public:
  /// Adds a free of a known block. Its row is added to `rows` at once if no completion is expected. O(1).
  void add(const trace::free_event& row, const turn_clock& now, block_rows& rows) {
    // A framework's free is complete immediately. If a completion is recorded later, it becomes a row of its own.
    const bool by_framework = row.layer == trace::layer::framework || row.layer == trace::layer::user;
    if (by_framework || row.completed != trace::unknown_time) return write(row, rows);
    waiting_.push_back({row, now});
    if (waiting_.size() - first_ > max_waiting) write_oldest(rows);
  }
  /// Adds the row of a free that does not wait for its completion. O(1).
  void write(const trace::free_event& row, block_rows& rows) {
    const trace::event_id id = rows.add(row);
    if (row.completed == trace::unknown_time && row.address != 0) written_.put(row.address, id);
  }

  /// Completes the latest waiting free of `address`, and adds its row. Returns false if no free of `address` waits.
  /// O(waiting frees).
  bool complete(trace::layer layer, std::uint64_t address, trace::time_ns time, block_rows& rows);
  /// Adds a row for the completion of a free whose row was added before. Ignored if there was no such free.
  void complete_late(std::uint64_t address, trace::time_ns time, block_rows& rows);

  /// Adds the rows of frees that have waited long enough. With `everything`, those of all waiting frees.
  void settle(const turn_clock& now, bool everything, block_rows& rows);

  /// Call when no more completions can come: frees memory.
  void forget_past();

 private:
  struct waiting_free {
    trace::free_event row;
    turn_clock since;
  };
  static constexpr std::size_t max_waiting = 1024;  ///< `complete` searches them linearly.

  void write_oldest(block_rows& rows);

  std::vector<waiting_free> waiting_;  ///< Oldest first.
  std::size_t first_ = 0;              ///< Index of the first free in `waiting_` whose row has not been added yet.
  recent_frees<trace::event_id> written_{std::size_t{1} << 16};  ///< Rows of frees without a completion, by address.
};

}  // namespace sluice::writer
