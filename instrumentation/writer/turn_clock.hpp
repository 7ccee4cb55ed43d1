#pragma once

#include <cstdint>

namespace sluice::collector {

/// Limits how long the writer waits for records that may never come. For a real recording, time is the number of turns
/// of the drain loop. For a simulated one it is the number of records, so that equal runs make equal files.
struct turn_clock {
  std::uint64_t turns = 0;
  std::uint64_t records = 0;
  bool simulated = false;

  static constexpr std::uint64_t most_turns = 25;  ///< Half a second at 20 ms per turn.
  static constexpr std::uint64_t most_records = 64;

  /// True if a wait that began at `start` should be given up.
  [[nodiscard]] constexpr bool is_over(const turn_clock& start, std::uint64_t turns_to_wait = most_turns) const {
    return simulated ? records - start.records > most_records : turns - start.turns > turns_to_wait;
  }
};

}  // namespace sluice::collector
