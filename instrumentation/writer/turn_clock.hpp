#pragma once

#include <cstdint>

namespace sluice::collector {

/// How far the recording has come, for those who wait for something that may never come. A real recording waits by
/// turns of the drain loop. A simulated one waits by records, so that what it writes does not depend on the wall clock.
struct turn_clock {
  std::uint64_t turns = 0;
  std::uint64_t records = 0;
  bool simulated = false;

  static constexpr std::uint64_t most_turns = 25;  ///< Half a second at 20 ms a turn.
  static constexpr std::uint64_t most_records = 64;

  /// Whether who has waited since `start` should give up.
  [[nodiscard]] constexpr bool is_over(const turn_clock& start, std::uint64_t turns_to_wait = most_turns) const {
    return simulated ? records - start.records > most_records : turns - start.turns > turns_to_wait;
  }
};

}  // namespace sluice::collector
